"""Browsable atlases of open-weight models, made by running the models' own code.

::

    import openmodelatlas

    atlas = openmodelatlas.build("kimi-k2")
    atlas["layers.0.self_attn"].parameter_count
    for node in atlas: ...

The package imports neither torch nor transformers: model code runs in a child process (see ``capture``). What is
heavier than this file is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openmodelatlas.errors import AtlasError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from openmodelatlas.bundle.atlas import Atlas
    from openmodelatlas.capture.job import Limits, Progress

__version__ = "0.1.0"

__all__ = ["Atlas", "AtlasError", "__version__", "build", "open"]


def build(
    source: str | Path,
    *,
    revision: str | None = None,
    configuration: str | Path | None = None,
    packages: Sequence[str] = (),
    trust: bool = False,
    force: bool = False,
    overrides: Mapping[str, int | list[int]] | None = None,
    limits: Limits | None = None,
    home: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Atlas:
    """The atlas of ``source``, built unless one of the same source, settings and version is there.

    See :func:`openmodelatlas.builder.build` for the arguments.

    Args:
        source: registered name (``kimi-k2``), ``owner/name@revision``, ``transformers:deepseek_v3``, ``./folder``,
            ``package.module:factory`` or ``reference:kimi-k3``; a ``Path`` is a folder.
        revision: branch, tag or hash of a hub source.
        configuration: JSON file to use instead of the published configuration.
        packages: further requirements for the process that runs the model's code.
        trust: whether the code of a hub or folder may run.
        force: build even if the atlas is up to date.
        overrides: sizes of the probes by configuration key.
        limits: what the model's code may use.
        home: folder of everything this program keeps.
        progress: is told how far the build is.

    Raises:
        AtlasError: or a subclass, see ``openmodelatlas.errors``.
    """
    from openmodelatlas.builder import build as build_atlas

    return build_atlas(
        source,
        revision=revision,
        configuration=configuration,
        packages=packages,
        trust=trust,
        force=force,
        overrides=overrides,
        limits=limits,
        home=home,
        progress=progress,
    )


def open(path: str | Path) -> Atlas:  # noqa: A001  (``openmodelatlas.open`` reads as it should)
    """Opens the atlas in the folder ``path``, or the built atlas of that name on this machine.

    Raises:
        BundleError: there is no atlas, or it is damaged or of another format.
        UsageError: ``path`` is neither text nor a path.
    """
    from pathlib import Path

    from openmodelatlas.bundle import store
    from openmodelatlas.bundle.home import home, list_built, model_folder
    from openmodelatlas.errors import UsageError

    if not isinstance(path, str | Path):
        raise UsageError(f"{path!a} is neither the path of a folder nor the name of an atlas.")
    if isinstance(path, str) and path in list_built(home()) and not store.is_there(Path(path)):
        return store.read(model_folder(home(), path))
    return store.read(Path(path))


def __getattr__(name: str) -> Any:
    if name == "Atlas":
        from openmodelatlas.bundle.atlas import Atlas

        return Atlas
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
