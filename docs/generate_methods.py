"""Makes docs/methods/, a page a method, from its docstring and its recipe: `python docs/generate_methods.py`."""

import inspect
from pathlib import Path

from partita.recipes import RECIPES, build
from partita.recipes._equation import equation, keywords

FOLDER = Path(__file__).with_name("methods")
NOTICE = "<!-- Made by docs/generate_methods.py from the recipe and its docstring: change those. -->"


def page(name: str) -> str:
    method = RECIPES[name]
    summary, *paragraphs = paragraphs_of(method)
    objectives = equation(method).split("; ")
    lines = [
        f"# {name}",
        NOTICE,
        "",
        summary,
        "",
        "It minimises" + (", a line a player," if len(objectives) > 1 else ""),
        "",
    ]
    lines += ["```", *objectives, "```", "", *[line for text in paragraphs for line in (text, "")]]
    lines += ["| option | default |", "|---|---|"]
    lines += [f"| `{key}` | {default(p.default)} |" for key, p in keywords(method).items()]
    lines += ["", *added()]
    lines += ["", "Networks, likelihood, steps, batch size and learning rate are options of every method; see", ""]
    lines += ["```", f"partita train {name} --help", "```"]
    recipe = build(name, shape=(1,)).recipe
    if recipe.players:
        lines += ["", "| player | owns | logs |", "|---|---|---|"]
        lines += [
            f"| {number} | {', '.join(player.owns)} | {', '.join(player.weights)} |"
            for number, player in enumerate(recipe.players, 1)
        ]
    return "\n".join(lines) + "\n"


def added() -> list[str]:
    """What `build` says of the options that any method takes."""
    return ["Of these, any method takes:", "", paragraphs_of(build)[1]]


def index() -> str:
    lines = ["# Methods", NOTICE, "", "| method | what it is | it minimises |", "|---|---|---|"]
    for name, method in RECIPES.items():
        summary, objective = paragraphs_of(method)[0], equation(method).replace("; ", "<br>")
        cells = [text.replace("|", "\\|") for text in (summary, objective)]
        lines.append(f"| [{name}]({name}.md) | {cells[0]} | {cells[1]} |")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    return {"README.md": index()} | {f"{name}.md": page(name) for name in RECIPES}


def paragraphs_of(method) -> list[str]:
    return [text.replace("\n", " ") for text in inspect.cleandoc(method.__doc__ or "").split("\n\n")]


def default(value) -> str:
    return "–" if value is None else f"`{value}`"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    made = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
