"""The register as a page: every release and every attempt, and what became of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tasks.reporting import page
from tasks.reporting.pictures import INK, MARKERS, SERIES, as_svg, figure, style
from tasks.store.audit import Audit
from tasks.store.history import MOST_PERIODS, RUNNING, VERIFIED, Past, by_period, latest
from tasks.store.register import PUBLISHED


def register_page(found: Mapping[Path, tuple[Audit, Sequence[Past]]]) -> str:
    """Write one page of several registers, each with what an audit found in it."""
    pasts = [past for _, of_one in found.values() for past in of_one]
    datasets = sorted({past.dataset for past in pasts})
    published = [past for past in pasts if past.decision == PUBLISHED]
    faults = [fault for audit, _ in found.values() for fault in audit.faults]
    sentence = (
        f"Datasets: {len(datasets)}; releases that are public: {len(published)}; attempts: "
        f"{len(pasts)}. Every file and every line is as it was written."
    )
    return page.page(
        "Register of releases",
        page.together(
            [
                page.notice("bad", "Not what was written", page.bullets(faults))
                if faults
                else page.notice("good", "Whole", page.paragraph(sentence)),
                page.contents([*datasets, "Registers"]),
                *(page.section(dataset, *_dataset(dataset, pasts)) for dataset in datasets),
                page.section("Registers", _registers(found)),
            ]
        ),
        about="Internal",
    )


def _dataset(dataset: str, pasts: Sequence[Past]) -> list[page.Html]:
    own = [past for past in pasts if past.dataset == dataset]
    measured = latest(pasts, dataset)
    parts = []
    if measured:
        parts.append(
            page.figure(
                as_svg(over_time(measured), f"IL and DLD of {dataset} over time"),
                "What each period lost (IL) and what could be linked (DLD), in per cent; the steps "
                "are the ceilings that were signed for. Hollow: not published.",
            )
        )
    parts.append(
        page.table(
            [
                "Period",
                "Decision",
                "IL",
                "DLD",
                "Method, k",
                "Spec",
                "Reviewer",
                "Files",
                "When, UTC",
            ],
            [_row(past) for past in sorted(own, key=by_period, reverse=True)],
            caption=f"Attempts at {dataset}, the latest period first",
            numbers=(2, 3),
        )
    )
    specs: dict[tuple[str, str], list[str]] = {}
    for past in own:
        if past.spec_file:
            key = past.spec_file, past.spec_sha256
            specs.setdefault(key, []).append(past.attempt.split("-")[0])
    if specs:
        parts.append(
            page.subsection(
                "Reviewed specs",
                page.table(
                    ["Spec", "SHA-256", "Attempts"],
                    [
                        (name, page.code(sha256), ", ".join(attempts))
                        for (name, sha256), attempts in specs.items()
                    ],
                    caption=f"The spec files of {dataset}, and the attempts that used them",
                ),
            )
        )
    released = sorted((past for past in own if past.checksums), key=by_period)
    if released:
        parts.append(
            page.subsection(
                "Checksums of what is public",
                page.table(
                    ["Period", "File", "SHA-256"],
                    [
                        (past.period, name, page.code(sha256))
                        for past in released
                        for name, sha256 in past.checksums.items()
                    ],
                    caption=f"SHA-256 of every public file of {dataset}",
                ),
            )
        )
    return parts


def _row(past: Past) -> tuple[str, ...]:
    decided = page.verdict(past.decision == PUBLISHED, (past.decision, past.decision))
    if past.decision in ("unchanged", "sealed", RUNNING):
        decided = page.Html(page.safe(past.decision))
    reason = f"{past.reason[:1].upper()}{past.reason[1:]}" if past.reason else ""
    reviewed = page.explained(past.reviewer, past.review_reason) if past.reviewer else "none"
    status = (
        page.verdict(past.status == VERIFIED, (past.status, past.status))
        if past.folder
        else past.status
    )
    return (
        page.explained(past.period, _attempt(past)),
        page.explained(decided, reason) if reason else decided,
        _against(past.il, past.il_ceiling),
        _against(past.dld, past.dld_ceiling),
        f"{past.method}, {past.k}" if past.method else "",
        _spec(past),
        reviewed,
        status,
        past.time[: len("2026-11-16T08:58")].replace("T", " "),
    )


def _attempt(past: Past) -> str:
    """Give the number of an attempt, as a link to its report if it has one."""
    number = past.attempt.split("-")[0]
    if not past.report:
        return number
    return page.Html(f'<a href="{Path(past.report).as_uri()}">report {number}</a>')


def _spec(past: Past) -> str:
    """Name the reviewed spec, and every value of which the run departed from it."""
    if not past.spec_file:
        return ""
    changes = "; ".join(map(str, past.changes))
    return page.explained(past.spec_file, changes or "as reviewed")


def _against(value: float | None, ceiling: float) -> str:
    if value is None:
        return ""
    return page.explained(f"{value:.2f} %", f"at most {ceiling:g} %")


def _registers(found: Mapping[Path, tuple[Audit, Sequence[Past]]]) -> page.Html:
    return page.table(
        ["Register", "Lines", "Last line", "Attempts", "Waiting for a reviewer", "Status"],
        [
            (
                page.code(str(folder)),
                str(audit.lines),
                page.code(audit.head),
                str(audit.attempts),
                ", ".join(audit.waiting) or "none",
                page.verdict(not audit.faults, ("whole", "not what was written")),
            )
            for folder, (audit, _) in found.items()
        ],
        caption="Registers; keep the hash of the last line elsewhere",
        numbers=(1, 3),
    )


@style()
def over_time(pasts: Sequence[Past]) -> Figure:
    """Draw IL and DLD by period, with their ceilings as steps."""
    shown = list(pasts)[-MOST_PERIODS:]
    places = range(len(shown))
    drawing, axes = figure(640, 260)
    for i, (name, values, ceilings) in enumerate(
        (
            ("IL", [past.il or 0.0 for past in shown], [past.il_ceiling for past in shown]),
            ("DLD", [past.dld or 0.0 for past in shown], [past.dld_ceiling for past in shown]),
        )
    ):
        axes.stairs(
            ceilings, [place - 0.5 for place in range(len(shown) + 1)], baseline=None,
            color=SERIES[i], linewidth=1, linestyle="--", label=f"ceiling of {name}",
        )  # fmt: skip
        axes.plot(places, values, color=SERIES[i], linewidth=1.2, zorder=2)
        for place, value, past in zip(places, values, shown, strict=True):
            axes.plot(
                [place], [value],
                marker=MARKERS[i], markersize=6, color=SERIES[i], linestyle="",
                markerfacecolor=SERIES[i] if past.decision in (PUBLISHED, "unchanged") else "white",
                label=name if place == 0 else None, zorder=3,
            )  # fmt: skip
    labels = [past.period for past in shown]
    axes.set_xticks(
        list(places),
        labels,
        rotation=0 if len(shown) < 8 else 60,
        ha="center" if len(shown) < 8 else "right",
    )
    axes.set_xlim(-0.5, max(len(shown) - 0.5, 0.5))
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set_ylabel("per cent", color=INK)
    drawing.legend(loc="outside upper left", ncols=4)
    return drawing
