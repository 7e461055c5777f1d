"""From what a user calls an atlas to the built one."""

from __future__ import annotations

from pathlib import Path

from openmodelatlas.bundle import store
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import home, list_built, model_folder, name_for, origin_of
from openmodelatlas.errors import UsageError

MODEL_HELP = "MODEL is a built model's name, the source it was built from, or the folder of a bundle."


def open_page(name: str, address: str | None) -> tuple[Atlas, str]:
    """The built atlas and the address within it; ``name`` may hold both: ``kimi-k2/layers/dense``.

    Raises:
        UsageError: it is not built; the advice tells how to, or names what is.
        BundleError: it is damaged or of another format.
    """
    built = list_built(home())
    model = built_name(name, built)
    if model is not None:
        return store.read(model_folder(home(), model)), address or ""
    if _is_bundle(Path(name)):
        return store.read(Path(name)), address or ""
    first, _, rest = name.partition("/")
    if first.lower() in built:
        inside = "/".join(part for part in (rest.strip("/"), address) if part)
        return store.read(model_folder(home(), first.lower())), inside
    raise not_built(name, built)


def _is_bundle(folder: Path) -> bool:
    try:
        return (folder / "current").is_file() or (folder / "manifest.json").is_file()
    except OSError:  # longer than any path may be
        return False


def built_name(name: str, built: tuple[str, ...]) -> str | None:
    """Identifier of the built atlas that ``name`` means: the identifier itself, or the source it was built from.

    The atlas of another source that is called the same, or of another revision than ``name`` asks for, is not meant.
    """
    if name.lower() in built:
        return name.lower()
    from openmodelatlas.sources.resolve import exists
    from openmodelatlas.sources.target import named

    if not any(mark in name for mark in ":/@") and not exists(name):
        return None
    model = name_for(home(), *named(name))
    if model not in built:
        return None
    revision = "" if exists(name) or ":" in name or name.startswith((".", "/", "~")) else name.partition("@")[2]
    return model if not revision or _is_of(store.read(model_folder(home(), model)), revision) else None


def _is_of(atlas: Atlas, revision: str) -> bool:
    """Whether the atlas was built at this branch, tag, or full or short hash of a hub source."""
    from openmodelatlas.sources.cache import SHORT_HASH

    origin = atlas.document.provenance
    # Where the repository has no code, only the origin of its configuration tells its commit.
    commits = (origin.revision, origin.configuration_origin.rpartition("@")[2])
    return revision == origin.requested_revision or (
        SHORT_HASH.match(revision) is not None and any(commit.startswith(revision) for commit in commits)
    )


def _other(name: str, built: tuple[str, ...]) -> str:
    """What is said of the atlas of another source that is called like this one."""
    from openmodelatlas.sources.target import named

    model, origin = named(name)
    there = origin_of(model_folder(home(), model)) if model in built else None
    return f" The atlas {model} is that of {there}." if there not in (None, origin) else ""


def not_built(name: str, built: tuple[str, ...]) -> UsageError:
    """The error for an atlas that is not there."""
    import difflib

    from openmodelatlas.sources.registry import MODELS

    entry = MODELS.get(name.lower())
    if entry is not None:
        return UsageError(
            f"The atlas of {entry.display_name} is not built.", advice=f"Build it with `oma build {entry.name}`."
        )
    if ":" in name or "/" in name:
        return UsageError(
            f"There is no atlas of {name!r}.", advice=f"Build it with `oma build {name}`.{_other(name, built)}"
        )
    near = difflib.get_close_matches(name.lower(), [*built, *MODELS], n=3)
    advice = f"Close to it: {', '.join(near)}." if near else "`oma models` lists what there is."
    return UsageError(f"There is no atlas called {name!r}.", advice=advice)
