"""What each figure and table of a page of theory shows."""

from __future__ import annotations

FIGURES = {
    "phase_diagram": (
        "Phase diagram",
        "Colours: which minima the population risk has on the quarter disc of overlaps (e, m), which of them is the "
        "lowest, and whether the first direction of learning leads there. Curves: where along ω one of these changes, "
        "for every a. Dots: a minimum that is neither semantic (0, 1) nor positional (1, 0). For d → ∞.",
    ),
    "landscapes": (
        "Risk landscapes",
        "Population risk over the semantic overlap m and the positional overlap e. Colours: R − R(0), red above and "
        "blue below; lines join equal risk. Arrows: the direction in which R goes down first from 0, where learning "
        "starts; both ways where R falls alike. Without a positional overlap: R(m), dashed at R(0). Below each panel: "
        "the sequence information exponent of the target, the lowest order of a non-zero derivative at 0 (flatness), "
        "the lowest order at which R goes down, and the second derivatives at 0.",
    ),
}
"""Title and caption of every figure."""

TABLES = {
    "phase_boundaries": (
        "Boundaries",
        "The ω at which, for every a: the first direction turns from semantic to positional (dynamics); the global "
        "minimum does (global); the positional minimum appears; the semantic one disappears. A dash: nowhere.",
    ),
    "phase_regions": (
        "Regimes",
        "How many points of the grid have each regime, and of them how many a mixed minimum.",
    ),
    "landscapes": (
        "At e = m = 0",
        "Direction, gradient and second derivatives in the coordinates (e, m). A dash: it does not exist.",
    ),
}
"""Title and note of every table, in the order of the page."""

SUBSET = "Where the entry has more models than fit, evenly spread ones are drawn; all of them are in the table."
TABLES_NOTE = "All of it follows from the population risk; nothing is simulated. A dash stands for what does not exist."
