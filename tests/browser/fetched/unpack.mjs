// Unpacks the browser, its libraries and its fonts into $TMPDIR.
import { fileURLToPath } from "node:url";
import { inflate } from "@sparticuz/chromium";

const packed = new URL("bin/", import.meta.resolve("@sparticuz/chromium").replace(/build\/.*$/, ""));
for (const name of ["chromium.br", "al2023.tar.br", "fonts.tar.br", "swiftshader.tar.br"]) {
  await inflate(fileURLToPath(new URL(name, packed)));
}
