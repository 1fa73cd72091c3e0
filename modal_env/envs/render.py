"""Rendering of the environments: the last round as a table, one row per player."""

from __future__ import annotations

from modal_env.envs.rounds import Contest


def render(contest: Contest) -> str | None:
    """The table of the last round: returned under render_mode "ansi", printed under "human"."""
    if contest.setting.render_mode is None:
        return None
    text = round_text(contest)
    if contest.setting.render_mode == "ansi":
        return text
    print(text)
    return None


def round_text(contest: Contest) -> str:
    """The table of the last round as plain text."""
    from modal_env.text_tables import add_row, as_text, new_table, with_legend  # which loads rich

    setting, history = contest.setting, contest.history
    title = f"Round {len(history)} of {setting.rounds}, epsilon {setting.epsilon}, cost: {setting.cost}"
    table = new_table(title, "player", "against", "program", "formula", "move", ">paid")
    if not history:
        return as_text(with_legend(table, "nobody has played yet"))
    played = history[-1]
    for name, partner, program, move, paid in zip(
        setting.names, played.partners, played.programs, played.moves, played.payoffs, strict=True
    ):
        known = program.name if program.name != program.text else ""
        add_row(table, name, setting.names[partner], known, program.text, move, f"{paid:.4g}")
    return as_text(with_legend(table))
