"""Two made-up atlases, written by hand, with everything a page can show."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.bundle.store import read, write
from openmodelatlas.bundle.tensors import TensorValue
from openmodelatlas.graph.document import (
    DOCUMENT_FORMAT,
    Branch,
    Check,
    CitedFile,
    Document,
    Lines,
    Node,
    ParameterFact,
    Port,
    Provenance,
    Repeat,
    SizeName,
    Symbol,
    TensorFact,
    Unreached,
    Variation,
)
from openmodelatlas.shapes.dimension import Constant, DataDependent, Symbolic, Unresolved, Varying

SOURCES = Path(__file__).parent / "sample_sources"
REVISION = "0123456789abcdef0123456789abcdef01234567"

B = Symbolic("B", None)
T = Symbolic("T", None)
D = Symbolic("hidden_size", 7168)
H = Symbolic("num_attention_heads", 64)
E = Symbolic("head_dim", 128)
HE = Symbolic("head_dim*num_attention_heads", 8192)
FLAT = Symbolic("B*T", None)
ROUTED = DataDependent("tokens routed to this expert", "where", "B*T*num_experts_per_tok")

SIZES = {
    "B": SizeName(symbol="B", name="batch", value=None),
    "T": SizeName(symbol="T", name="positions", value=None),
    "hidden_size": SizeName(symbol="d", name="hidden_size", value=7168),
    "num_attention_heads": SizeName(symbol="h", name="num_attention_heads", value=64),
    "head_dim": SizeName(symbol="e", name="head_dim", value=128),
    "num_experts_per_tok": SizeName(symbol="k", name="num_experts_per_tok", value=8),
    "n_routed_experts": SizeName(symbol="N", name="n_routed_experts", value=384),
    "intermediate_size": SizeName(symbol="intermediate_size", name="intermediate_size", value=18432),
    "vocab_size": SizeName(symbol="V", name="vocab_size", value=163840),
}


class Source:
    """Finds lines of a sample file by the text in them, so that no line number is typed."""

    def __init__(self, name: str) -> None:
        self.path = name
        self.text = (SOURCES / f"{name}.txt").read_text("utf-8")
        self.lines = self.text.split("\n")

    def cited(self) -> CitedFile:
        return CitedFile(
            path=self.path,
            repository="example/Sample",
            revision=REVISION,
            sha256=hashlib.sha256(self.text.encode()).hexdigest(),
            url=f"https://example.org/example/Sample/blob/{REVISION}/{self.path}#L{{first}}-L{{last}}",
        )

    def number(self, text: str, after: int = 0) -> int:
        for index in range(after, len(self.lines)):
            if text in self.lines[index]:
                return index + 1
        raise LookupError(text)

    def body(self, head: str, after: str | None = None) -> Lines:
        """The whole ``def`` or ``class`` that begins with ``head``."""
        first = self.number(head, self.number(after) if after else 0)
        indent = len(self.lines[first - 1]) - len(self.lines[first - 1].lstrip())
        last = first
        for index in range(first, len(self.lines)):
            line = self.lines[index]
            if line.strip() and len(line) - len(line.lstrip()) <= indent and not line.lstrip().startswith(")"):
                break
            if line.strip():
                last = index + 1
        return Lines(file=self.path, first=first, last=last)

    def symbol(self, text: str, within: Lines, occurrence: int = 0) -> Symbol:
        """The characters ``text`` (they may span lines) inside ``within``."""
        start = sum(len(line) + 1 for line in self.lines[: within.first - 1])
        for _ in range(occurrence + 1):
            start = self.text.index(text, start) + 1
        start -= 1
        first = self.text.count("\n", 0, start) + 1
        last = self.text.count("\n", 0, start + len(text)) + 1
        line_start = self.text.rfind("\n", 0, start) + 1
        end_start = self.text.rfind("\n", 0, start + len(text)) + 1
        return Symbol(
            text=text,
            lines=Lines(
                file=self.path,
                first=first,
                last=last,
                column=start - line_start,
                end_column=start + len(text) - end_start,
            ),
        )


class Tree:
    """Collects nodes and fills in children and parents."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def add(self, address: str, kind: Any, label: str, **facts: Any) -> str:
        parent: str | None = address.rpartition("/")[0]
        if address == "":
            parent = None
        title = facts.pop("title", label)
        self.nodes[address] = Node(address=address, kind=kind, title=title, label=label, parent=parent, **facts)
        if parent is not None:
            above = self.nodes[parent]
            self.nodes[parent] = msgspec.structs.replace(above, children=(*above.children, address))
        return address

    def tensor(self, address: str, label: str, shape: tuple[Any, ...], **facts: Any) -> str:
        own = {key: facts.pop(key) for key in ("symbol", "members", "code", "variations", "phase") if key in facts}
        facts.setdefault("dtype", "bfloat16")
        if "value" not in facts:
            facts.setdefault("value_note", "Only the values of block outputs are kept.")
        return self.add(address, "tensor", label, tensor=TensorFact(shape=shape, **facts), **own)


def port(name: str, tensor: str, source: Any = "tensor", via: tuple[str, ...] = ()) -> Port:
    return Port(name=name, tensor=tensor, source=source, via=via)


def provenance() -> Provenance:
    return Provenance(
        source="transformers",
        repository="example/Sample",
        revision=REVISION,
        requested_revision="main",
        entry="modeling_sample.SampleForCausalLM",
        configuration_origin=f"example/Sample/config.json@{REVISION[:12]}",
        preferred=("example/Sample-Original@fedcba987654 was passed over: the hub does not answer (no route to host)",),
        versions={"python": "3.11.9", "torch": "2.13.0", "transformers": "5.24.0", "openmodelatlas": "0.1.0"},
        choices=(
            {"key": "hidden_size", "true_value": 7168, "origin": "file", "sizes": [24, 40, 56], "reason": "width"},
        ),
        probes=({"name": "a", "role": "solve", "sizes": {"hidden_size": 24}, "batch": 2, "tokens": 11},),
    )


def _norm(
    tree: Tree, code: Source, address: str, *, label: str, members: tuple[int, ...], module: str, source: str
) -> str:
    owner = tree.add(
        address,
        "module",
        label,
        members=members,
        count=len(members),
        symbol=code.symbol(
            f"self.{address.rsplit('/', 1)[-1].replace('-', '_')}(hidden_states)",
            code.body("def forward(", "class SampleBlock"),
        ),
        code=code.body("class SampleNorm"),
        function="SampleNorm.forward",
        module=module,
        class_name="SampleNorm",
        inputs=(port("x", source),),
        outputs=(port("output", f"{address}/normed"),),
        parameters=(f"{module}.weight",),
        parameter_count=7168 * len(members),
        parameter_count_each=7168,
        events=6 * len(members),
    )
    forward = code.body("def forward(", "class SampleNorm")
    tree.add(
        f"{owner}/pow",
        "operation",
        "Pow",
        members=members,
        symbol=code.symbol("wide.pow(2)", forward),
        code=forward,
        function="torch.Tensor.pow",
        arguments={"exponent": 2},
        inputs=(port("wide", source, via=(f"{owner}/to",)),),
        outputs=(port("output", f"{owner}/power"),),
        events=len(members),
    )
    tree.add(
        f"{owner}/to",
        "operation",
        "To",
        members=members,
        symbol=code.symbol("x.to(torch.float32)", forward),
        code=forward,
        function="torch.Tensor.to",
        arguments={"dtype": {"dtype": "float32"}},
        plumbing=True,
        inputs=(port("x", source),),
        outputs=(port("wide", f"{owner}/power"),),
    )
    tree.tensor(
        f"{owner}/power",
        "Power",
        (B, T, D),
        dtype="float32",
        symbol=code.symbol("power", forward),
        code=forward,
        members=members,
        variable="power",
        producer=f"{owner}/pow",
    )
    return tree.tensor(
        f"{owner}/normed",
        "Normed",
        (B, T, D),
        members=members,
        code=forward,
        producer=owner,
        symbol=code.symbol("self.weight * wide.to(x.dtype)", forward),
    )


def _attention(tree: Tree, code: Source, block: str, *, members: tuple[int, ...], module: str, source: str) -> str:
    forward = code.body("def forward(", "class SampleAttention")
    count = len(members)
    owner = tree.add(
        f"{block}/self-attn",
        "module",
        "Self attn",
        members=members,
        count=count,
        symbol=code.symbol(
            "self.self_attn(hidden_states, mask=attention_mask)", code.body("def forward(", "class SampleBlock")
        ),
        code=code.body("class SampleAttention"),
        function="SampleAttention.forward",
        module=module,
        class_name="SampleAttention",
        inputs=(port("hidden_states", source),),
        outputs=(port("output", f"{block}/self-attn/attended"),),
        parameters=(f"{module}.q_proj.weight", f"{module}.o_proj.weight"),
        parameter_count=2 * 7168 * 8192 * count,
        parameter_count_each=2 * 7168 * 8192,
        unreached=(
            Unreached(
                lines=Lines(
                    file=code.path,
                    first=code.number("scores = scores + mask"),
                    last=code.number("scores = scores + mask"),
                ),
                condition="mask is not None",
                condition_line=code.number("if mask is not None"),
            ),
        ),
        events=9 * count,
    )
    tree.add(
        f"{owner}/q-proj",
        "module",
        "Q proj",
        members=members,
        symbol=code.symbol("self.q_proj(hidden_states)", forward),
        function="torch.nn.Linear",
        module=f"{module}.q_proj",
        class_name="torch.nn.Linear",
        inputs=(port("input", source),),
        outputs=(port("output", f"{owner}/query"),),
        parameters=(f"{module}.q_proj.weight",),
        parameter_count=7168 * 8192 * count,
        parameter_count_each=7168 * 8192,
    )
    tree.add(
        f"{owner}/softmax",
        "operation",
        "Softmax",
        members=members,
        symbol=code.symbol("torch.softmax(scores, dim=-1, dtype=torch.float32)", forward),
        code=forward,
        function="torch.softmax",
        arguments={"dim": -1, "dtype": {"dtype": "float32"}},
        inputs=(port("input", f"{owner}/scores"),),
        outputs=(port("output", f"{owner}/weights"),),
        events=count,
    )
    tree.add(
        f"{owner}/matmul",
        "operation",
        "Matmul",
        members=members,
        symbol=code.symbol("torch.matmul(query, query.transpose(2, 3))", forward),
        code=forward,
        function="torch.matmul",
        inputs=(
            port("input", f"{owner}/query", via=(f"{owner}/view", f"{owner}/transpose")),
            port("other", f"{owner}/query", via=(f"{owner}/view", f"{owner}/transpose")),
        ),
        outputs=(port("output", f"{owner}/scores"),),
    )
    for name, text, arguments in (
        (
            "view",
            "self.q_proj(hidden_states).view(batch, tokens, self.heads, self.head_dim)",
            {"shape": {"list": [2, 11, 3, 8]}},
        ),
        ("transpose", "query.transpose(2, 3)", {"dim0": 2, "dim1": 3}),
    ):
        tree.add(
            f"{owner}/{name}",
            "operation",
            name.capitalize(),
            members=members,
            symbol=code.symbol(text, forward),
            code=forward,
            function=f"torch.Tensor.{name}",
            arguments=arguments,
            plumbing=True,
            inputs=(port("self", f"{owner}/query"),),
            outputs=(port("output", f"{owner}/query"),),
        )
    tree.tensor(
        f"{owner}/query",
        "Query",
        (B, T, HE),
        symbol=code.symbol("query", forward),
        code=forward,
        variable="query",
        producer=f"{owner}/q-proj",
        consumers=(f"{owner}/matmul",),
        members=members,
    )
    tree.tensor(
        f"{owner}/scores",
        "Scores",
        (B, H, T, T),
        symbol=code.symbol("scores", forward),
        code=forward,
        variable="scores",
        producer=f"{owner}/matmul",
        consumers=(f"{owner}/softmax",),
        members=members,
    )
    tree.tensor(
        f"{owner}/weights",
        "Weights",
        (B, H, T, T),
        dtype=None,
        dtype_note="The probe in the published dtype did not run: no kernel for bfloat16.",
        symbol=code.symbol("weights", forward),
        code=forward,
        variable="weights",
        producer=f"{owner}/softmax",
        members=members,
    )
    return tree.tensor(
        f"{owner}/attended",
        "Attended",
        (B, T, D),
        symbol=code.symbol("self.o_proj(mixed)", forward),
        code=forward,
        producer=owner,
        consumers=(f"{block}/add",),
        members=members,
    )


def _block(
    tree: Tree, code: Source, address: str, *, label: str, members: tuple[int, ...], module: str, source: str
) -> str:
    moe = len(members) > 1
    forward = code.body("def forward(", "class SampleBlock")
    ffn = 3 * 384 * 7168 * 2048 if moe else 2 * 7168 * 18432
    each = ffn + 2 * 7168 * 8192 + 2 * 7168
    tree.add(
        address,
        "module",
        label,
        members=members,
        count=len(members),
        symbol=code.symbol("layer(hidden_states)", code.body("def forward(", "class SampleForCausalLM")),
        code=code.body("class SampleBlock"),
        function="SampleBlock.forward",
        module=module,
        class_name="SampleBlock",
        inputs=(port("hidden_states", source),),
        outputs=(port("output", f"{address}/block-output"),),
        parameters=(
            f"{module}.input_layernorm.weight",
            f"{module}.self_attn.q_proj.weight",
            f"{module}.self_attn.o_proj.weight",
        ),
        parameter_count=each * len(members),
        parameter_count_each=each,
        variations=(Variation(what="attribute layer_idx", values=tuple(str(member - 1) for member in members)),)
        if moe
        else (),
        events=28 * len(members),
    )
    normed = _norm(
        tree,
        code,
        f"{address}/input-layernorm",
        label="Input layernorm",
        members=members,
        module=f"{module}.input_layernorm",
        source=source,
    )
    attended = _attention(tree, code, address, members=members, module=f"{module}.self_attn", source=normed)
    tree.add(
        f"{address}/add",
        "operation",
        "Add",
        members=members,
        symbol=code.symbol("residual + hidden_states", forward),
        code=forward,
        function="torch.Tensor.__add__",
        inputs=(port("residual", source), port("hidden_states", attended)),
        outputs=(port("hidden_states", f"{address}/hidden-states"),),
        events=len(members),
    )
    tree.tensor(
        f"{address}/hidden-states",
        "Hidden states",
        (B, T, D),
        symbol=code.symbol("hidden_states", forward),
        code=forward,
        variable="hidden_states",
        producer=f"{address}/add",
        members=members,
    )
    if moe:
        _experts(tree, code, address, members=members, module=f"{module}.mlp", source=f"{address}/hidden-states")
    else:
        tree.add(
            f"{address}/mlp",
            "module",
            "Mlp",
            members=members,
            symbol=code.symbol("self.mlp(hidden_states)", forward),
            code=code.body("class SampleMLP"),
            function="SampleMLP.forward",
            module=f"{module}.mlp",
            class_name="SampleMLP",
            inputs=(port("x", f"{address}/hidden-states"),),
            outputs=(port("output", f"{address}/block-output"),),
            events=3,
        )
    tree.add(
        f"{address}/add-2",
        "operation",
        "Add",
        title="Add (second)",
        members=members,
        symbol=code.symbol("residual + hidden_states", forward, 1),
        code=forward,
        function="torch.Tensor.__add__",
        inputs=(port("residual", f"{address}/hidden-states"), port("hidden_states", f"{address}/hidden-states")),
        outputs=(port("hidden_states", f"{address}/block-output"),),
        events=len(members),
    )
    return tree.tensor(
        f"{address}/block-output",
        "Block output",
        (B, T, D),
        symbol=code.symbol(
            "hidden_states",
            Lines(file=code.path, first=code.number("return hidden_states", forward.first), last=forward.last),
        ),
        code=forward,
        variable="hidden_states",
        producer=f"{address}/add-2",
        value="7",
        members=members,
    )


def _experts(tree: Tree, code: Source, block: str, *, members: tuple[int, ...], module: str, source: str) -> None:
    forward = code.body("def forward(", "class SampleExperts")
    repeat = Repeat(observed=(5, 7), expression=None, of="n_routed_experts", note="8 of 384 per token")
    tree.add(
        f"{block}/mlp",
        "module",
        "Mlp",
        members=members,
        symbol=code.symbol("self.mlp(hidden_states)", code.body("def forward(", "class SampleBlock")),
        code=code.body("class SampleExperts"),
        function="SampleExperts.forward",
        module=module,
        class_name="SampleExperts",
        inputs=(port("hidden_states", source),),
        outputs=(port("output", f"{block}/block-output"),),
        parameters=(f"{module}.experts.*.up.weight",),
        parameter_count=60 * 384 * 7168 * 2048,
        parameter_count_each=384 * 7168 * 2048,
        events=60 * 40,
    )
    tree.add(
        f"{block}/mlp/topk",
        "operation",
        "Topk",
        members=members,
        symbol=code.symbol("torch.topk(scores, self.top_k, dim=-1)", forward),
        code=forward,
        function="torch.topk",
        arguments={"k": 3, "dim": -1},
        inputs=(port("input", source),),
        outputs=(port("weights", f"{block}/mlp/chosen"),),
    )
    loop = tree.add(
        f"{block}/mlp/experts",
        "loop",
        "384 experts",
        members=members,
        repeat=repeat,
        symbol=code.symbol("for number, expert in enumerate(self.experts):", forward),
        code=forward,
    )
    tree.add(
        f"{loop}/expert",
        "module",
        "Expert",
        members=members,
        repeat=repeat,
        symbol=code.symbol("expert(flat[token])", forward),
        code=code.body("class SampleMLP"),
        function="SampleMLP.forward",
        module=f"{module}.experts.*",
        class_name="SampleMLP",
        inputs=(port("x", f"{loop}/routed"),),
        outputs=(port("output", f"{loop}/routed"),),
        parameters=(f"{module}.experts.*.up.weight",),
        parameter_count=60 * 384 * 7168 * 2048,
        parameter_count_each=7168 * 2048,
    )
    tree.tensor(
        f"{loop}/routed",
        "Routed",
        (ROUTED, D),
        symbol=code.symbol("flat[token]", forward),
        code=forward,
        producer=loop,
        consumers=(f"{loop}/expert",),
        members=members,
    )
    tree.tensor(
        f"{block}/mlp/chosen",
        "Chosen",
        (FLAT, Symbolic("num_experts_per_tok", 8)),
        dtype="int64",
        symbol=code.symbol("chosen", forward),
        code=forward,
        variable="chosen",
        producer=f"{block}/mlp/topk",
        members=members,
    )


def sample_document() -> Document:
    """A K2-like tree: one dense block, sixty MoE blocks."""
    code = Source("modeling_sample.py")
    forward = code.body("def forward(", "class SampleForCausalLM")
    tree = Tree()
    tree.add(
        "",
        "model",
        "Sample",
        title="Sample",
        code=code.body("class SampleForCausalLM"),
        class_name="SampleForCausalLM",
        function="SampleForCausalLM.forward",
        inputs=(port("input_ids", "input-ids", "input"),),
        outputs=(port("output", "layers/moe/block-output"),),
        parameter_count=1_026_408_209_408,
        parameter_count_each=1_026_408_209_408,
        events=1720,
    )
    tree.add(
        "embed-tokens",
        "module",
        "Embed tokens",
        symbol=code.symbol("self.embed_tokens(input_ids)", forward),
        function="torch.nn.Embedding",
        module="model.embed_tokens",
        class_name="torch.nn.Embedding",
        inputs=(port("input", "input-ids", "input"),),
        outputs=(port("hidden_states", "hidden-states"),),
        parameters=("model.embed_tokens.weight",),
        parameter_count=163840 * 7168,
        parameter_count_each=163840 * 7168,
    )
    tree.add(
        "layers",
        "layer group",
        "61 transformer blocks",
        members=tuple(range(1, 62)),
        count=61,
        symbol=code.symbol("for layer in self.layers:", forward),
        code=forward,
        parameter_count=1_025_233_000_000,
    )
    _block(
        tree, code, "layers/dense", label="1 dense block", members=(1,), module="model.layers.0", source="hidden-states"
    )
    _block(
        tree,
        code,
        "layers/moe",
        label="60 MoE blocks",
        members=tuple(range(2, 62)),
        module="model.layers.*",
        source="layers/dense/block-output",
    )
    tree.tensor("input-ids", "Input ids", (B, T), dtype="int64", consumers=("embed-tokens",), variable="input_ids")
    tree.tensor(
        "hidden-states",
        "Hidden states",
        (B, T, D),
        symbol=code.symbol("hidden_states", forward),
        code=forward,
        variable="hidden_states",
        producer="embed-tokens",
        consumers=("layers/dense",),
    )
    weight = {"kind": "parameter", "dtype": "bfloat16", "aliases": ()}
    parameters = {
        "model.embed_tokens.weight": ParameterFact(
            name="model.embed_tokens.weight",
            kind="parameter",
            dtype="bfloat16",
            aliases=("lm_head.weight",),
            shape=(Symbolic("vocab_size", 163840), D),
            each=163840 * 7168,
            count=1,
            readers=("embed-tokens",),
            owner="embed-tokens",
        ),
    }
    for module, block, count in (("model.layers.0", "layers/dense", 1), ("model.layers.*", "layers/moe", 60)):
        for suffix, shape, each, owner in (
            ("input_layernorm.weight", (D,), 7168, "input-layernorm"),
            ("self_attn.q_proj.weight", (HE, D), 7168 * 8192, "self-attn/q-proj"),
            ("self_attn.o_proj.weight", (D, HE), 7168 * 8192, "self-attn"),
        ):
            name = f"{module}.{suffix}"
            parameters[name] = ParameterFact(
                name=name,
                **weight,
                shape=shape,
                each=each,
                count=count,
                readers=(f"{block}/{owner}",),
                owner=f"{block}/{owner}",
            )
    experts = "model.layers.*.mlp.experts.*.up.weight"
    parameters[experts] = ParameterFact(
        name=experts,
        **weight,
        shape=(Constant(2048), D),
        each=7168 * 2048,
        count=60 * 384,
        readers=("layers/moe/mlp/experts/expert",),
        owner="layers/moe/mlp/experts/expert",
    )
    return Document(
        format=DOCUMENT_FORMAT,
        model="sample",
        title="Sample",
        provenance=provenance(),
        configuration={"hidden_size": 7168, "num_hidden_layers": 61, "rope_scaling": {"type": "yarn", "factor": 32.0}},
        configuration_defaults=("head_dim",),
        sizes=SIZES,
        nodes=tree.nodes,
        parameters=parameters,
        files={code.path: code.cited()},
        checks=(
            Check(name="parameters equal the model at full size", passed=True, detail="1,026,408,209,408"),
            Check(
                name="dimensions confirmed on the held-out probe", passed=None, detail="The held-out probe did not run."
            ),
        ),
        notes=("The vision tower is not part of this atlas.",),
    )


def running_sum_document() -> Document:
    """A K3-like tree: a condition that the layers take differently, and lines no layer reached."""
    code = Source("modeling_running_sum.py")
    forward = code.body("def forward(", "class RunningSumBlock")
    tree = Tree()
    condition = Branch(
        test="running is not None",
        lines=Lines(file=code.path, first=code.number("if running is not None"), last=code.number("running = update")),
        taken={"true": tuple(n for n in range(1, 94) if n % 12 != 1), "false": tuple(range(1, 94, 12))},
    )
    unreached = Unreached(
        lines=Lines(file=code.path, first=code.number("self.last_scores"), last=code.number("self.last_scores") + 2),
        condition="output_scores",
        condition_line=code.number("if output_scores"),
    )
    tree.add(
        "",
        "model",
        "Running sum",
        title="Running sum <&>",
        parameter_count=93 * 3 * 7168 * 7168,
        parameter_count_each=93 * 3 * 7168 * 7168,
    )
    tree.add("layers", "layer group", "93 layers", members=tuple(range(1, 94)), count=93, code=forward)
    tree.add(
        "layers/first",
        "module",
        "First layer",
        members=(1,),
        code=code.body("class RunningSumBlock"),
        function="RunningSumBlock.forward",
        module="model.layers.0",
        class_name="RunningSumBlock",
        branches=(condition,),
        unreached=(unreached,),
        parameter_count=3 * 7168 * 7168,
        parameter_count_each=3 * 7168 * 7168,
        inputs=(port("hidden_states", "layers/first/carried", "outside"),),
        outputs=(port("running", "layers/first/running"), port("stored", "layers/first/stored")),
    )
    tree.add(
        "layers/first/add-attention-update",
        "branch",
        "Add attention update",
        members=(1,),
        symbol=Symbol(text="running + update", lines=condition.lines),
        code=forward,
        branches=(condition,),
        inputs=(port("running", "layers/first/carried"), port("update", "layers/first/update")),
        outputs=(port("running", "layers/first/running"),),
        variations=(Variation(what="axis 1 of stored", values=("1", "2", "<script>alert(1)</script>")),),
    )
    tree.tensor(
        "layers/first/carried",
        "Carried",
        (B, T, D),
        symbol=code.symbol("running", forward),
        code=forward,
        consumers=("layers/first/add-attention-update",),
    )
    tree.tensor("layers/first/update", "Update", (B, T, D), symbol=code.symbol("update", forward), code=forward)
    tree.tensor(
        "layers/first/running",
        "Running",
        (B, T, D),
        symbol=code.symbol("running", forward),
        code=forward,
        producer="layers/first/add-attention-update",
    )
    tree.tensor(
        "layers/first/stored",
        "Stored",
        (FLAT, Varying((1, 2, 3)), D, Unresolved("No expression fits all probes.", (3, 5, 5))),
        symbol=code.symbol("stored", forward),
        code=forward,
    )
    return Document(
        format=DOCUMENT_FORMAT,
        model="running-sum",
        title="Running sum <&>",
        provenance=provenance(),
        configuration={},
        configuration_defaults=(),
        sizes=SIZES,
        nodes=tree.nodes,
        parameters={},
        files={code.path: code.cited()},
        checks=(),
        notes=(),
    )


def texts_of(document: Document) -> dict[str, str]:
    return {file.sha256: Source(path).text for path, file in document.files.items()}


def sample_values() -> dict[str, TensorValue]:
    return {"7": TensorValue(dtype="float32", shape=(1, 2, 3), data=struct.pack("<6f", *(n / 4 for n in range(6))))}


def build_sample(home: Path) -> Path:
    document = sample_document()
    return write(document, texts=texts_of(document), values=sample_values(), home=home, model=document.model)


def build_running_sum(home: Path) -> Path:
    document = running_sum_document()
    return write(document, texts=texts_of(document), values={}, home=home, model=document.model)


def build_known(home: Path) -> Path:
    """The same as the running sum, with what is known of it and with a diagram."""
    from tests.site.known import running_sum_drawings, running_sum_knowledge

    document = msgspec.structs.replace(running_sum_document(), model="known-sum", title="Known sum")
    return write(
        document,
        texts=texts_of(document),
        values={},
        home=home,
        model=document.model,
        knowledge=running_sum_knowledge(),
        drawings=running_sum_drawings(),
    )


def open_samples(home: Path) -> list[Any]:
    return [read(build_sample(home)), read(build_running_sum(home)), read(build_known(home))]
