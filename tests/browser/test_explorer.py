"""The explorer as people use it: in a real browser, on the real Airflow."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from kafka_pareto.campaign.records import Prior, PriorCampaign
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from tests.browser.conftest import PICTURES, SCREEN, Explorer, Visitor
from tests.browser.past_checks import write_check
from tests.tasks.report_campaign import CAMPAIGN

pytestmark = pytest.mark.studies

CASE = "65636"


def open_view(explorer: Explorer, visitor: Visitor, case: str = CASE) -> None:
    """The freshly loaded page of one case, with both charts drawn."""
    visitor.page.goto("about:blank")
    visitor.page.goto(f"{explorer.url}#study=paper&campaign={CAMPAIGN}&size={case}")
    visitor.page.wait_for_selector("body[data-drawn]")
    expect(visitor.page.locator("#best .name")).to_be_visible()


def best_id(visitor: Visitor) -> str:
    return (visitor.page.locator("#best .name").text_content() or "").split()[0]


def test_without_a_session_the_page_asks_to_log_in(explorer: Explorer, chromium: Browser) -> None:
    context = chromium.new_context()
    page = context.new_page()
    answer = page.goto(explorer.url)
    assert answer
    assert answer.status == 401
    expect(page.get_by_text("then reload this page")).to_be_visible()
    context.close()
    assert httpx.get(f"{explorer.url}api/campaigns", trust_env=False).status_code == 401


def test_it_opens_from_airflows_navigation(explorer: Explorer, visitor: Visitor) -> None:
    visitor.page.goto(explorer.stack.airflow_url)
    visitor.page.locator("a[href$='plugin/kafka-pareto']").click()
    frame = visitor.page.frame_locator("iframe[title='Pareto explorer']")
    expect(frame.locator("#best .name")).to_be_visible()
    visitor.picture("from_the_navigation")


def test_it_opens_on_the_page_of_the_dag_inside_airflow(explorer: Explorer, visitor: Visitor) -> None:
    visitor.page.goto(f"{explorer.stack.airflow_url}/dags/tune_producer")
    visitor.page.locator("a[href*='plugin/kafka-pareto-explorer']").click()
    frame = visitor.page.frame_locator("iframe[title='Pareto explorer']")
    expect(frame.locator("#best .name")).to_be_visible()
    expect(frame.get_by_text("For MLflow, open")).to_be_visible()
    visitor.picture("inside_airflow")


def test_the_first_screen_comes_and_nothing_is_refused(explorer: Explorer, visitor: Visitor) -> None:
    open_view(explorer, visitor)
    expect(visitor.page.locator("#interval-note")).not_to_be_empty()
    visitor.picture("light")
    assert visitor.complaints == [], "\n".join(visitor.complaints)


def test_a_slider_moved_by_keyboard_changes_the_named_configuration(explorer: Explorer, visitor: Visitor) -> None:
    open_view(explorer, visitor)
    before = best_id(visitor)
    slider = visitor.page.get_by_label("latency CV at most", exact=True)
    slider.focus()
    slider.press("Home")
    expect(visitor.page.locator("#best .name")).not_to_contain_text(before)
    assert "latency_cv=" in visitor.page.url
    visitor.picture("slider")
    slider.press("End")
    expect(visitor.page.locator("#best .name")).to_contain_text(before)
    assert "latency_cv=" not in visitor.page.url


def test_an_answer_that_a_later_one_has_overtaken_does_not_count(explorer: Explorer, visitor: Visitor) -> None:
    page = visitor.page
    open_view(explorer, visitor)
    recommended = best_id(visitor)
    held: list[Route] = []
    limited = re.compile(r"/choice\?.*latency_cv=")
    page.route(limited, lambda route: held.append(route))  # noqa: PLW0108 (Playwright cannot take a built-in)
    slider = page.get_by_label("latency CV at most", exact=True)
    with page.expect_request(limited):
        slider.press("Home")
    with page.expect_response(lambda answer: "/choice?" in answer.url):
        slider.press("End")
    with page.expect_response(limited):
        for route in held:
            route.continue_()
    expect(page.locator("#best .name")).to_contain_text(recommended)
    page.unroute_all()


def test_a_limit_that_nothing_keeps_names_the_nearest(explorer: Explorer, visitor: Visitor) -> None:
    open_view(explorer, visitor)
    typed = visitor.page.get_by_label("p95 latency at most, typed")
    typed.fill("0.5")
    typed.press("Enter")
    expect(visitor.page.locator("#best")).to_contain_text("The closest")
    visitor.picture("nothing_remains")


def test_the_address_brings_back_the_same_view(explorer: Explorer, visitor: Visitor) -> None:
    open_view(explorer, visitor)
    visitor.page.get_by_label("Prefer").select_option("throughput")
    visitor.page.get_by_label("x-axis").select_option("latency_cv")
    expect(visitor.page.locator("#best")).to_contain_text("throughput first")
    named, address = best_id(visitor), visitor.page.url
    visitor.page.goto("about:blank")
    visitor.page.goto(address)
    visitor.page.wait_for_selector("body[data-drawn]")
    assert best_id(visitor) == named
    assert visitor.page.get_by_label("x-axis").input_value() == "latency_cv"


def test_the_skip_link_moves_the_focus_and_keeps_the_view(explorer: Explorer, visitor: Visitor) -> None:
    open_view(explorer, visitor)
    address = visitor.page.url
    visitor.page.locator(".skip").press("Enter")
    expect(visitor.page.locator("#requirements")).to_be_focused()
    assert visitor.page.url == address
    expect(visitor.page.locator("#best .name")).to_be_visible()


def test_a_refusal_is_shown_until_the_same_action_succeeds(explorer: Explorer, visitor: Visitor) -> None:
    open_view(explorer, visitor)
    choices = "**/choice?*"
    visitor.page.route(choices, lambda route: route.fulfill(status=503, json={"detail": "it restarts"}))
    slider = visitor.page.get_by_label("latency CV at most", exact=True)
    slider.press("Home")
    expect(visitor.page.get_by_role("alert")).to_have_text("it restarts")
    visitor.page.get_by_label("right").select_option(best_id(visitor))
    expect(visitor.page.get_by_role("alert")).to_be_visible()
    visitor.page.unroute(choices)
    slider.press("End")
    expect(visitor.page.get_by_role("alert")).to_be_hidden()


def test_charts_that_could_not_be_loaded_are_drawn_at_the_next_try(explorer: Explorer, visitor: Visitor) -> None:
    library = "**/plotly.min.js*"
    visitor.page.route(library, lambda route: route.abort())
    visitor.page.goto(f"{explorer.url}#study=paper&campaign={CAMPAIGN}&size={CASE}")
    expect(visitor.page.get_by_role("alert")).to_have_text("The charts could not be loaded. Reload the page.")
    expect(visitor.page.locator("#interval-note")).not_to_be_empty()
    visitor.page.unroute(library)
    visitor.page.get_by_label("x-axis").select_option("latency_cv")
    visitor.page.wait_for_selector("body[data-drawn]")


def test_a_refused_campaign_shows_nothing_of_the_one_before(explorer: Explorer, visitor: Visitor) -> None:
    campaign = explorer.campaign()
    campaign.write_record(campaign.keys.prior(), Prior(half_life_days=30, campaigns=[]))
    open_view(explorer, visitor)
    report = visitor.page.get_by_role("link", name="Report")
    expect(visitor.page.locator("#prior")).to_be_visible()
    expect(report).to_be_visible()
    visitor.page.evaluate("location.hash = 'study=paper&campaign=20260101-unknown'")
    expect(visitor.page.get_by_role("alert")).to_be_visible()
    for part in ("#view", "#prior", "#progress"):
        expect(visitor.page.locator(part)).to_be_hidden()
    expect(report).to_have_count(0)
    expect(visitor.page.get_by_role("link", name="Comparisons").first).to_be_visible()


def test_the_downloaded_properties_are_the_artifact(explorer: Explorer, visitor: Visitor, tmp_path: Path) -> None:
    open_view(explorer, visitor)
    with visitor.page.expect_download() as started:
        visitor.page.get_by_role("link", name="producer.properties").click()
    started.value.save_as(tmp_path / "producer.properties")
    artifact = explorer.store.get(explorer.campaign().keys.report(f"{CASE}/producer.properties"))
    assert (tmp_path / "producer.properties").read_bytes() == artifact


def test_the_page_shows_the_artifacts_text(explorer: Explorer, visitor: Visitor) -> None:
    campaign = explorer.campaign()
    key = campaign.keys.confirmation(CASE, "trials.parquet")
    trials = campaign.read_table(key, TRIAL_COLUMNS)
    open_view(explorer, visitor)
    shown = f"{trials.throughput_mib_s[1]:.1f} MiB/s"
    row = visitor.page.locator("#estimates tr", has_text=trials.configuration_id[1])
    expect(row).to_contain_text(f"→ {shown}")
    campaign.write_table(key, trials.assign(throughput_mib_s=trials.throughput_mib_s + 500), TRIAL_COLUMNS)
    visitor.page.reload()
    expect(row).to_contain_text(f"→ {trials.throughput_mib_s[1] + 500:.1f} MiB/s")


def test_nothing_sticks_out_of_its_panel_at_any_width(explorer: Explorer, visitor: Visitor) -> None:
    write_check(explorer.store, 1, CASE, 0.51, 2.02)
    open_view(explorer, visitor)
    longest = visitor.page.locator("#left option", has_text="on the measured front").first.get_attribute("value")
    visitor.page.get_by_label("left").select_option(longest)
    expect(visitor.page.locator("#checks tbody tr")).to_be_visible()
    too_wide = """(parts) => [...document.querySelectorAll(parts)]
        .filter((each) => each.scrollWidth > each.clientWidth)
        .map((each) => `${each.closest('section')?.querySelector('h2')?.textContent}: ${each.className}`)"""
    # On a narrow screen a table may scroll within its panel.
    for width, parts in {1280: ".panel, .scroll", 1440: ".panel, .scroll", 900: ".panel"}.items():
        visitor.page.set_viewport_size({"width": width, "height": SCREEN["height"]})
        assert visitor.page.evaluate(too_wide, parts) == [], width
        visitor.picture(f"width_{width}")
    visitor.page.set_viewport_size(SCREEN)


def test_the_history_of_checks_marks_drift(explorer: Explorer, visitor: Visitor) -> None:
    history = [(1, 0.51, 2.02, 1), (8, 0.49, 1.98, 1), (15, 0.82, 1.6, 1), (16, 0.5, 2.1, 2), (22, 0.52, 2.0, 2)]
    for day, p95, throughput, version in history:
        write_check(explorer.store, day, CASE, p95, throughput, version=version)
    open_view(explorer, visitor)
    rows = visitor.page.locator("#checks tbody tr")
    expect(rows).to_have_count(len(history))
    expect(rows.nth(2)).to_contain_text("drifted, change point")
    expect(rows.nth(2)).to_contain_text("0.820")
    expect(rows.nth(2)).to_contain_text("+64.0 %")
    chart = visitor.page.locator("#checks-chart")
    expect(chart.get_by_text("version 2")).to_be_visible()
    expect(chart.get_by_text("change point")).to_be_visible()
    symbols = visitor.page.evaluate("document.getElementById('checks-chart').data[0].marker.symbol")
    assert symbols == ["circle", "circle", "x", "circle", "circle"]
    visitor.picture("checks")


def test_a_warm_start_is_shown_in_one_line(explorer: Explorer, visitor: Visitor) -> None:
    used = PriorCampaign(campaign="20261120-before", age_days={CASE: 1.04}, trials=44)
    other = PriorCampaign(campaign="20261119-other", left_out=["another cluster"])
    campaign = explorer.campaign()
    campaign.write_record(campaign.keys.prior(), Prior(half_life_days=30, campaigns=[used, other]))
    open_view(explorer, visitor)
    line = visitor.page.locator("#prior")
    expect(line).to_contain_text("20261120-before (44 trials, 1.0 days old); no usable trials in 1 more campaign")


def test_two_configurations_are_shown_side_by_side(explorer: Explorer, visitor: Visitor) -> None:
    open_view(explorer, visitor)
    names = visitor.page.locator("#left option").evaluate_all("options => options.map(option => option.value)")
    visitor.page.get_by_label("left").select_option(names[3])
    expect(visitor.page.locator("#compare thead")).to_contain_text(names[3])
    assert f"left={names[3]}" in visitor.page.url


def test_hostile_names_in_an_artifact_stay_text(explorer: Explorer, visitor: Visitor) -> None:
    key = explorer.campaign().keys.report("cards.json")
    hostile = rb"<img src=x onerror=document.body.dataset.bad=1><script>document.body.dataset.bad=1</script>"
    cards = explorer.store.get(key)
    changed = re.sub(rb'"compression.type":"', b'"compression.type":"' + hostile, cards)
    assert changed != cards
    explorer.store.put(key, changed)
    open_view(explorer, visitor)
    expect(visitor.page.locator("#card")).to_contain_text("<script>document.body.dataset.bad=1</script>")
    assert visitor.page.locator("#card img, #card script, #best script").count() == 0
    assert visitor.page.evaluate("document.body.dataset.bad") is None


def test_the_report_opens_without_a_right_to_run_scripts_and_no_table_is_cut(
    explorer: Explorer, visitor: Visitor
) -> None:
    open_view(explorer, visitor)
    with visitor.context.expect_page() as opened:
        visitor.page.get_by_role("link", name="Report").click()
    report = opened.value
    expect(report.get_by_role("region", name="The decision")).to_be_visible()
    report.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    report.screenshot(path=PICTURES / "report.png", full_page=True)
    cut = """[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth)
        .map((each) => each.textContent.trim().slice(0, 80))"""
    assert report.evaluate(cut) == []
    report.close()


def test_a_running_campaign_shows_its_progress_and_first_results(explorer: Explorer, visitor: Visitor) -> None:
    for key in explorer.store.keys(f"paper/{CAMPAIGN}/"):
        if any(part in key for part in ("/03_", "/04_", "/05_", "/06_", "/07_")):
            explorer.store.delete(key)
    open_view(explorer, visitor)
    expect(visitor.page.locator("#progress")).to_contain_text("60 repetitions")
    expect(visitor.page.locator("#card")).to_contain_text("No decision yet")
    expect(visitor.page.locator("#best")).to_contain_text("Not confirmed")
    visitor.picture("running")


def test_the_links_of_a_watched_campaign_come_when_it_ends(explorer: Explorer, visitor: Visitor) -> None:
    key = explorer.campaign().keys.report("report.html")
    written = explorer.store.get(key)
    explorer.store.delete(key)
    open_view(explorer, visitor)
    report = visitor.page.get_by_role("link", name="Report")
    expect(visitor.page.locator("#progress")).to_contain_text("… report")
    expect(report).to_have_count(0)
    explorer.store.put(key, written)
    expect(report).to_be_visible()
    expect(visitor.page.locator("#progress")).to_be_hidden()


def test_progress_is_shown_though_airflows_api_fails(explorer: Explorer, visitor: Visitor) -> None:
    for key in explorer.store.keys(f"paper/{CAMPAIGN}/07_report/"):
        explorer.store.delete(key)
    runs = "**/tune_producer/dagRuns?*"
    visitor.page.route(runs, lambda route: route.fulfill(status=503, json={"detail": "it restarts"}))
    open_view(explorer, visitor)
    with visitor.page.expect_response(runs):
        pass  # a later look: the first one's trouble is hidden when the view comes
    expect(visitor.page.locator("#progress")).to_contain_text("Not finished")
    visitor.page.wait_for_timeout(500)  # what would be said of the answer is said by then
    expect(visitor.page.locator("#trouble")).to_be_hidden()
    visitor.page.unroute(runs)


def test_a_store_without_campaigns_says_how_to_get_one(explorer: Explorer, visitor: Visitor) -> None:
    for key in explorer.store.keys(""):
        explorer.store.delete(key)
    visitor.page.goto(explorer.url)
    expect(visitor.page.get_by_text("No campaigns yet")).to_be_visible()
    visitor.picture("no_campaign")


def test_a_damaged_artifact_is_named_on_the_page(explorer: Explorer, visitor: Visitor) -> None:
    explorer.store.put(explorer.campaign().keys.report("cards.json"), b'{"schema_version": 1}')
    visitor.page.goto(f"{explorer.url}#study=paper&campaign={CAMPAIGN}&size={CASE}")
    expect(visitor.page.get_by_role("alert")).to_contain_text("cards.json: schema_version 1: this release reads")
    visitor.picture("damaged")


def test_dark_mode_follows_the_system_and_airflows_own_choice(explorer: Explorer, visitor: Visitor) -> None:
    page = visitor.page
    page.emulate_media(color_scheme="dark")
    open_view(explorer, visitor)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(18, 22, 29)"
    visitor.picture("dark")
    page.evaluate("localStorage.setItem('theme', 'light')")
    page.reload()
    page.wait_for_selector("body[data-drawn]")
    assert page.evaluate(ground) == "rgb(244, 245, 247)"
    page.evaluate("localStorage.removeItem('theme')")
    page.emulate_media(color_scheme="light")
