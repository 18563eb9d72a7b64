"""Word vectors from a Hugging Face transformer; transformers is imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from caesura.errors import InvalidInput, MissingPackage, message

__all__ = ["Transformer"]


class Transformer(nn.Module):
    """Word vectors from a transformer, taken at the first sub-token of each word.

    Long sentences are cut into windows that overlap, and a word takes the vector of the window in
    which it has the most context; nothing is left out.

    Parameters
    ----------
    name : str
        Name of a model on the Hugging Face hub, or a local folder.
    frozen : bool
        Whether its weights stay as they are.
    window : int, optional
        Maximum number of sub-tokens at a time; by default the limit of the model.
    """

    def __init__(self, name: str, frozen: bool = False, window: int | None = None) -> None:
        super().__init__()
        try:
            import transformers
        except ModuleNotFoundError:
            user = "NeuralSegmenter(transformer=...)"
            raise MissingPackage("transformers", "transformers", user) from None
        try:
            self.tokeniser: Any = transformers.AutoTokenizer.from_pretrained(name)
            self.model: Any = transformers.AutoModel.from_pretrained(name)
        except (OSError, ValueError) as error:
            expected = "the name of a model on the Hugging Face hub, or a local folder"
            raise InvalidInput(
                message("transformer", name, expected, f"check the name ({error})")
            ) from None
        self.name, self.frozen = name, bool(frozen)
        self.size = int(self.model.config.hidden_size)
        most = int(getattr(self.model.config, "max_position_embeddings", 512)) - 2
        places = getattr(getattr(self.model, "embeddings", None), "position_embeddings", None)
        first = getattr(places, "padding_idx", None)
        if first is not None:  # RoBERTa numbers positions from there
            most -= first + 1
        most = min(most, int(self.tokeniser.model_max_length) - 2)
        self.window = most if window is None else min(window, most)
        self.model.requires_grad_(not self.frozen)

    def forward(self, sentences: Sequence[Sequence[str]], T: int) -> Tensor:
        """Return the vectors of words, (B, T, H)."""
        pieces = [self._pieces(words) for words in sentences]
        windows: list[tuple[int, int, int]] = []  # sentence, start and end in sub-tokens
        for b, (ids, _) in enumerate(pieces):
            step = max(1, self.window // 2)
            starts = range(0, max(1, len(ids) - self.window + step), step)
            windows += [(b, s, min(s + self.window, len(ids))) for s in starts]
        hidden = self._hidden([pieces[b][0][s:e] for b, s, e in windows])
        out = hidden.new_zeros(len(sentences), T, self.size)
        places: dict[tuple[int, int], tuple[int, int, int]] = {}
        for w, (b, s, e) in enumerate(windows):
            for t, first in enumerate(pieces[b][1]):
                if s <= first < e:
                    context = min(first - s, e - 1 - first)
                    known = places.get((b, t))
                    if known is None or context > known[0]:
                        places[b, t] = context, w, first - s + 1
        if places:
            b, t = torch.tensor(list(places), device=out.device).T
            _, w, k = torch.tensor(list(places.values()), device=out.device).T
            out = out.index_put((b, t), hidden[w, k])
        return out

    def _pieces(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the sub-tokens of a sentence, and the index of each word's first one."""
        ids: list[int] = []
        firsts: list[int] = []
        if words:
            encoded = self.tokeniser(
                [list(words)], add_special_tokens=False, is_split_into_words=True
            )
            by_word: dict[int, list[int]] = {}
            for piece, word in zip(encoded["input_ids"][0], encoded.word_ids(0), strict=True):
                by_word.setdefault(word, []).append(piece)
            unknown = self.tokeniser.unk_token_id or 0
            for t in range(len(words)):
                firsts.append(len(ids))
                ids += by_word.get(t) or [unknown]  # a word may have no sub-tokens
        return ids, firsts

    def _hidden(self, windows: list[list[int]]) -> Tensor:
        """Return the last hidden layer of each window, with a special token at both ends."""
        t = self.tokeniser
        first = t.cls_token_id if t.cls_token_id is not None else t.bos_token_id or 0
        last = t.sep_token_id if t.sep_token_id is not None else t.eos_token_id or 0
        width = max(map(len, windows)) + 2
        pad = t.pad_token_id or 0
        rows = [[first, *ids, last] for ids in windows]
        device = next(self.model.parameters()).device
        table = torch.tensor([row + [pad] * (width - len(row)) for row in rows], device=device)
        mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows], device=device)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            found: Tensor = self.model(input_ids=table, attention_mask=mask).last_hidden_state
        return found

    def train(self, mode: bool = True) -> Transformer:
        """Set the mode; a frozen model stays in evaluation mode."""
        super().train(mode)
        if self.frozen:
            self.model.eval()
        return self
