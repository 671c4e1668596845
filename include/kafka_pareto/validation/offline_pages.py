"""Make Data Docs pages self-contained.

By default they load scripts, styles, icons and a logo from seven public servers. Offline, and in the explorer, which
blocks foreign content, the column that names failures would be empty.
"""

from __future__ import annotations

import re

# The icon goes as well: pages of validations look for it one folder too low.
_REMOVED = re.compile(
    r"<script\b.*?</script>|<footer\b.*?</footer>|<(?:link|img)\b[^>]*?\b(?:href|src)=\"(?:https?:|[^\">]*favicon)[^>]*>"
    r"|\sonclick=\"[^\"]*\"",
    re.DOTALL,
)
# What only scripts could show or hide is left out, or open.
_STYLE = """<style>
body { font-family: sans-serif; margin: 2em }
td, th { padding: 0.3em 1em 0.3em 0; text-align: left; vertical-align: top }
table { border-collapse: collapse } tr { border-bottom: 1px solid #d8dde4 }
.ge-breadcrumbs, .nav { list-style: none; padding: 0 } .nav { columns: 14em }
.sticky { position: static } .card.mb-3, [data-toggle=collapse] { display: none }
.badge { background: #e8ecf2; padding: 0 0.3em; border-radius: 0.2em }
.fas { font-style: normal; font-weight: bold }
.fa-check-circle::before { content: "\\2713" } .text-success { color: #1a7f37 }
.fa-times::before { content: "\\2717" } .text-danger { color: #b3261e }
.fa-exclamation-triangle::before { content: "!" } .text-warning { color: #9a6700 }
</style>
</head>"""


def offline_page(page: str) -> str:
    """Return the page without foreign content or icon, with a style of its own."""
    return _REMOVED.sub("", page).replace("</head>", _STYLE, 1)
