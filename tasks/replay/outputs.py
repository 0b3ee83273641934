"""The outputs of a replay: a page with pictures, and a table of all releases."""

from pathlib import Path

from tasks.replay.findings import Findings
from tasks.replay.table import csv_of
from tasks.store.disk import make_folder, replace_file

PAGE, TABLE = "series.html", "releases.csv"


def write_replay(found: Findings, folder: Path) -> Path:
    """Write the page, its pictures and its table, and give the path of the page.

    Files of an earlier replay are replaced.
    """
    # matplotlib takes a while to import, and only this needs it
    from tasks.replay.page import series_page
    from tasks.replay.pictures import drawn
    from tasks.reporting.pictures import as_png, as_svg

    make_folder(folder, "the folder of the replay")
    pictures = {}
    for name, (drawing, label) in drawn(found).items():
        pictures[name] = as_svg(drawing, label)
        replace_file(folder / f"{name}.png", as_png(drawing))
    replace_file(folder / TABLE, csv_of(found.replays).encode())
    replace_file(folder / PAGE, series_page(found, pictures).encode())
    return folder / PAGE
