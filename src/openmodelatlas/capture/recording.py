"""What the child process brings back: the hand-over from ``capture`` to ``shapes`` and ``graph``.

One :class:`Recording` per probe. Everything is plain data with integer references into the recording's own tables, so
that it decodes from JSON with validation (``msgspec``) and nothing in it can name a path or run code. The child writes
``recording-<probe>.json`` files, one ``values.safetensors`` with the tensors of the value probe (keys are the decimal
tensor numbers), and one ``summary.json`` (:class:`Summary`).

Conventions: lines are 1-based, columns 0-based in UTF-8 bytes (as in ``code.co_positions()``), end columns exclusive;
``-1`` stands for "none" in integer references. Events of a recording (operations and calls) share one counter
``order``, increasing in the order in which they *began*.

Values that are not tensors are encoded as JSON by these rules: ``None``, booleans, integers, finite floats and
strings as they are; a tensor as ``{"tensor": number}``; sequences as ``{"list": […]}`` and mappings as
``{"dict": {name: value}}``, both with their whole ``"length"`` beside it where only the beginning is kept; a
non-finite float as ``{"float": "inf"}``; a dtype as ``{"dtype": "float32"}``; a slice as
``{"slice": [start, stop, step]}``; the ellipsis as ``{"ellipsis": true}``; a module as ``{"module": name}``; anything
else as ``{"object": "qualified.TypeName"}``. Caches and dataclasses that hold tensors are mappings of their attributes;
other objects are not looked into. Sequences, mappings and slices that lie deeper than :data:`DEEPEST` are objects too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import msgspec

from openmodelatlas.capture.encoded import numbered

RECORDING_FORMAT = 4

DEEPEST = 6
"""Levels of sequences, mappings and slices in an encoded value."""

Natural = Annotated[int, msgspec.Meta(ge=0)]
"""A size, a step, or a reference that must be there; the decoder refuses negative ones."""

Reference = Annotated[int, msgspec.Meta(ge=-1)]
"""A reference, or -1."""

Line = Annotated[int, msgspec.Meta(ge=1)]


class _Encoded(TypedDict, total=False):
    tensor: Natural
    list: list[Value]
    dict: dict[str, Value]
    length: Natural
    slice: Annotated[list[Value], msgspec.Meta(min_length=3, max_length=3)]
    float: str
    dtype: str
    module: str
    object: str
    ellipsis: Literal[True]


if TYPE_CHECKING:
    Value = Any  # readers ask for the key
else:
    Value = None | bool | int | float | str | _Encoded
Phase = Literal["prefill", "decode"]
ProbeRole = Literal["solve", "held-out", "repeat", "true-size"]


class Span(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Characters of one expression in one file.

    Attributes:
        file: index into ``Recording.files``.
        line, column, end_line, end_column: see the module's conventions.
    """

    file: int
    line: int
    column: int
    end_line: int
    end_column: int


class RecordedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A Python file whose code ran.

    Attributes:
        path: POSIX path relative to the source's root or, for a file outside it, to the ``site-packages`` folder that
            holds it (``transformers/cache_utils.py``); never absolute, never with ``..``.
        origin: ``source`` for files under the source's root, ``package`` for files of other installed packages,
            ``stand-in`` for our stand-ins.
        package: distribution and version of a ``package`` file, such as ``transformers 5.24.0``; else empty.
        sha256: hexadecimal SHA-256 of the bytes that were executed.
        text: the file's text, so that the parent never has to look for it.
    """

    path: str
    origin: Literal["source", "package", "stand-in"]
    package: str
    sha256: str
    text: str


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """A function that ran: ``DeepseekV3Attention.forward`` in its file, first to last line (decorators included)."""

    file: int
    name: str
    first_line: int
    last_line: int


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """One ``nn.Module`` of the model.

    Attributes:
        name: true name, ``model.layers.0.self_attn``; empty for the model itself.
        class_name: ``DeepseekV3Attention``; classes of torch are ``torch.nn.Linear``.
        file: index of the file that defines the class, -1 for torch's own or where the source is not available.
        first_line, last_line: lines of the class statement, 0 where ``file`` is -1.
        attributes: public attributes that are bool, int, float, str or None, such as ``scaling`` or ``layer_idx``.
    """

    name: str
    class_name: str
    file: int
    first_line: int
    last_line: int
    attributes: dict[str, bool | int | float | str | None]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter or buffer.

    Attributes:
        name: true name in the model's state dictionary, ``model.layers.0.self_attn.q_a_proj.weight``.
        aliases: further names of the same tensor (tied weights), in module order.
        kind: ``parameter`` or ``buffer``.
        persistent: whether it is part of the state dictionary.
        tensor: its tensor number, -1 on the true-size model where it is not executed.
        shape: sizes in elements.
        dtype: ``float32``, ``bfloat16``, …
    """

    name: str
    aliases: list[str]
    kind: Literal["parameter", "buffer"]
    persistent: bool
    tensor: int
    shape: list[int]
    dtype: str


class Tensor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One tensor value; an in-place write makes a new tensor with a new number (its position in ``Recording.tensors``).

    Attributes:
        shape: sizes in elements.
        dtype: ``float32``, ``int64``, …
        origin: ``input`` (handed to the model by the probe), ``parameter``, ``buffer``, ``operation``, or ``outside``
            (made without a recorded operation, such as by ``torch.from_numpy`` of routed counts).
        index: operation index for ``operation``, parameter index for ``parameter`` and ``buffer``, else -1.
        name: for inputs the argument (``input_ids``), otherwise empty.
        base: tensor number this one is a view of (shares storage with), -1 if it owns its storage.
    """

    shape: list[Natural]
    dtype: str
    origin: Literal["input", "parameter", "buffer", "operation", "outside"]
    index: Reference
    name: str = ""
    base: Reference = -1


class Call(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One run of a module or function of the model's code (or of torch's modules).

    Attributes:
        order: position among all events.
        parent: index of the enclosing call, -1 for the call of the model itself.
        kind: ``module`` (``forward`` of an nn.Module), ``function``, or ``kernel`` (a stand-in: no events inside).
        code: index into ``Recording.codes``, -1 for torch's own modules and kernels.
        name: function name; for torch's modules their class; for kernels their public name.
        module: index into ``Recording.modules``, -1 for functions.
        site: index into ``Recording.spans`` of the call expression in the enclosing call's code, -1 if unknown.
        step: length of the enclosing call's ``trace`` when this began (places it in loops and branches), 0 if none.
        phase: prefill or decode.
        arguments: encoded values by parameter name, ``self`` left out.
        result: encoded return value.
        trace: lines of this call's own frame in order of execution (loops repeat them); empty for torch's modules.
    """

    order: Natural
    parent: Reference
    kind: Literal["module", "function", "kernel"]
    code: Reference
    name: str
    module: Reference
    site: Reference
    step: Natural
    phase: Phase
    arguments: dict[str, Value] = {}
    result: Value = None
    trace: list[Line] = []


class Form(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What operations of one expression have in common; Kimi K2 runs 28,000 operations of 170 forms.

    Attributes:
        function: ``torch.nn.functional.softmax``, ``torch.Tensor.view``, ``torch.Tensor.__add__``, or the public name
            of a kernel.
        span: index into ``Recording.spans``, -1 where the frame has no positions.
        arguments: encoded positional arguments, in which a tensor is ``{"tensor": place}``: its place among the
            operation's ``tensors``, counted in the order of the arguments.
        keywords: encoded keyword arguments, after the positional ones.
    """

    function: str
    span: Reference
    arguments: list[Value]
    keywords: dict[str, Value]


if TYPE_CHECKING:
    FormReference = Form  # what :func:`link` makes of it
else:
    FormReference = Natural


class Operation(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One torch function or method, at the level at which the author wrote it.

    Attributes:
        order: position among all events.
        call: index of the call in whose frame (or torch module) it ran.
        form: index into ``Recording.forms``; the form itself after :func:`link`.
        step: length of the call's ``trace`` at that moment.
        tensors: numbers of the tensors among the arguments.
        outputs: tensor numbers of the results, in order (flattened from tuples); empty for results that are no tensors.
        result: encoded return value, ``None`` where it is the ``outputs``.
        writes: tensor numbers of the *previous* versions of tensors written in place, empty if none.
    """

    order: Natural
    call: Natural
    form: FormReference
    step: Natural
    tensors: list[Natural]
    outputs: list[Natural] = []
    result: Value = None
    writes: list[Natural] = []

    @property
    def function(self) -> str:
        """That of the form."""
        return self.form.function

    @property
    def span(self) -> int:
        """That of the form."""
        return self.form.span

    @property
    def arguments(self) -> list[Value]:
        """Encoded positional arguments, in which a tensor is ``{"tensor": number}``."""
        return [numbered(value, self.tensors) for value in self.form.arguments]

    @property
    def keywords(self) -> dict[str, Value]:
        """Encoded keyword arguments in the same way."""
        return {name: numbered(value, self.tensors) for name, value in self.form.keywords.items()}


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What was run.

    Attributes:
        name: ``a``, ``b``, …; ``true-size`` for the run on the meta device.
        role: ``solve``; ``held-out`` (sizes never used for solving); ``repeat`` (sizes of the first probe, other
            weights and tokens, so that data-dependent sizes show); ``true-size`` (published configuration on the
            meta device: shapes without values).
        sizes: every configuration key that varies between probes, by its name (``hidden_size``; for a nested
            configuration ``linear_attn_config.num_heads``), with this probe's value.
        batch, tokens: B and T of the prefill. The decode step runs 1 token after a cache of ``tokens``.
        dtype: floating-point type of the model in this probe.
        seed: seed of weights and tokens.
    """

    name: str
    role: ProbeRole
    sizes: dict[str, int]
    batch: int
    tokens: int
    dtype: str
    seed: int


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one probe did. ``failure`` tells where it stopped early, if it did (only the true-size run may)."""

    format: int
    probe: Probe
    files: list[RecordedFile]
    codes: list[Code]
    spans: list[Span]
    modules: list[Module]
    parameters: list[Parameter]
    tensors: list[Tensor]
    calls: list[Call]
    forms: list[Form]
    operations: list[Operation]
    failure: str | None = None


def link(recording: Recording) -> Recording:
    """Gives every operation its form in place of the form's number; once, after validation. Returns the recording."""
    forms = recording.forms
    for operation in recording.operations:
        msgspec.structs.force_setattr(operation, "form", forms[operation.form])  # type: ignore[call-overload]
    return recording


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What the shrinking did with one configuration key, for the report.

    Attributes:
        key: configuration key.
        true_value: value in the published configuration.
        origin: ``file`` (the published configuration), ``class default``, or ``override``.
        sizes: value in each probe, in probe order; empty when the key was kept.
        reason: one sentence: why kept, or which relations the sizes obey.
    """

    key: str
    true_value: Any
    origin: str
    sizes: list[int]
    reason: str


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What concerns the whole capture rather than one probe.

    Attributes:
        format: ``RECORDING_FORMAT``.
        python, torch, transformers: versions that ran; ``transformers`` is empty if it was not imported.
        effective_configuration: the published configuration with the class's defaults filled in.
        choices: what the shrinking chose.
        parameters: all parameters and buffers of the model at the published configuration, on the meta device.
        parameters_failure: why ``parameters`` is empty, if it is.
        seconds: wall-clock seconds by stage (``import``, ``instantiate``, ``forward``, ``write``).
        notes: sentences for the reader of the atlas (cache not supported: no decode step; …).
    """

    format: int
    python: str
    torch: str
    transformers: str
    effective_configuration: dict[str, Any]
    choices: list[Choice]
    parameters: list[Parameter]
    parameters_failure: str | None
    seconds: dict[str, float]
    notes: list[str]
