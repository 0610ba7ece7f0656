"""Which models of sentence-transformers GraphedBert can stand for: recognized, then tried. And which is the default."""

from __future__ import annotations

from typing import Any

import numpy as np

from .bert import fingerprint
from .graphs import GraphedBert, names
from .session import Tokenized, open_tokenizer
from .sources import DEFAULT_WEIGHTS

ALIKE = 0.999
"""Least cosine to the library's vectors, which are rounded to float16."""
_UNUSED = ("pooler.", "embeddings.position_ids", "embeddings.token_type_ids")
_PROBES = ("a", "how do i return a product that i ordered by mistake last week, and what does it cost?")


def graphed(model: Any, batch: int) -> GraphedBert | None:
    """The GraphedBert for a SentenceTransformer on CUDA, if there is one; called by the thread that will own it."""
    made = plain_bert(model, batch) if str(model.device).startswith("cuda") else None
    return made if made is not None and agrees(made, model) else None


def plain_bert(model: Any, batch: int) -> GraphedBert | None:
    """The GraphedBert of a BERT with GELU that pools by mean or CLS and does nothing else, on any device; else None."""
    kinds = [type(module).__name__ for module in model]
    bert: Any = getattr(model[0], "auto_model", None)
    if kinds[:2] != ["Transformer", "Pooling"] or kinds[2:] not in ([], ["Normalize"]):
        return None
    if type(bert).__name__ != "BertModel":
        return None
    config, tokenizer = bert.config, model.tokenizer
    # earlier releases have only the method
    pooling = getattr(model[1], "pooling_mode", None) or model[1].get_pooling_mode_str()
    plain = (
        pooling in ("mean", "cls")
        and (config.model_type, config.hidden_act) == ("bert", "gelu")
        and getattr(config, "position_embedding_type", "absolute") == "absolute"
        and not getattr(config, "is_decoder", False)
        and not getattr(config, "add_cross_attention", False)
        and not getattr(model[0], "do_lower_case", False)
        and (tokenizer.padding_side, tokenizer.truncation_side) == ("right", "right")
        and not (model.prompts or {}).get(model.default_prompt_name)
        and model.truncate_dim is None
    )
    layers = config.num_hidden_layers
    weights = {name: tensor for name, tensor in bert.state_dict().items() if not name.startswith(_UNUSED)}
    one_place = len({(tensor.device, tensor.dtype) for tensor in weights.values()}) == 1
    if not plain or not one_place or set(weights) != names(layers):
        return None
    heads, epsilon = config.num_attention_heads, config.layer_norm_eps
    return GraphedBert(weights, heads=heads, layers=layers, epsilon=epsilon, pooling=pooling, batch=batch)


def default_tokens(model: Any) -> Tokenized | None:
    """Its texts as token ids, if its vectors are the default model's; asked before its weights are rounded."""
    plain = plain_bert(model, 1)
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None) if plain is not None else None
    if plain is None or plain.pooling != "mean" or tokenizer is None:
        return None
    weights = {name: np.asarray(tensor.float().cpu()) for name, tensor in plain.weights.items()}
    if fingerprint(weights) != DEFAULT_WEIGHTS:
        return None
    return Tokenized(open_tokenizer(tokenizer.to_str().encode()), window_of(model))


def agrees(made: GraphedBert, model: Any) -> bool:
    """Whether a few texts, one of them too long, get the tokens and the vectors that the model gives them."""
    window = window_of(model)
    if window > made.positions:
        return False
    texts = [*_PROBES, "a product " * window]
    ids = [within(row, window) for row in model.tokenizer(texts, verbose=False)["input_ids"]]
    if ids != model.tokenizer(texts, truncation=True, max_length=window)["input_ids"]:
        return False
    want = np.asarray(model.encode(texts, show_progress_bar=False), np.float32)
    found = np.concatenate([made.encode([row]) for row in ids])
    return bool(((found * want).sum(1) >= ALIKE * np.linalg.norm(want, axis=1)).all())


def window_of(model: Any) -> int:
    """Tokens that it reads, special ones included."""
    return int(model.max_seq_length or model.tokenizer.model_max_length)


def within(ids: list[int], window: int) -> list[int]:
    """Token ids cut as the tokenizer cuts them: the last token ends the text."""
    return ids if len(ids) <= window else [*ids[: window - 1], ids[-1]]
