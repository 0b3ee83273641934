"""How Sphinx builds the documentation: `make docs`. No page fetches anything from outside."""

project = "microrelease"
author = "microrelease"
html_title = "microrelease"
html_theme = "furo"
html_show_sphinx = False
html_show_copyright = False
extensions = ["myst_parser"]
myst_heading_anchors = 4
exclude_patterns = ["notebooks"]
templates_path: list[str] = []
