#!/usr/bin/env python3
"""Write tests/golden/hf/tokenizer: small tokenizer.json files, one for each way to split, normalise and merge, and in ids.json what the
package tokenizers makes of some texts with them: ids, and the text that they are decoded to (null if it is not compared).

    scripts/golden-hf-tokens.py [OUT]

Needs the Python packages named in tokenlib.py."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import hf_token_cases as hf
import tokenlib as lib

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "tests/golden/hf/tokenizer")
KEEP = ("by hand falcon", "by hand contiguous", "by hand whole", "by hand sums", "bpe llama-3", "bpe deepseek-v3", "bpe roberta prefix", "bpe falcon", "bpe added flags", "bpe added flags nfkc lower",
        "bpe unknown expression", "bpe split merged_with_next", "bpe split inverted merged_with_previous",
        "text llama-2", "text llama-2 added", "text mistral metaspace", "text gemma", "text gemma spaces", "text mistral model", "text unknown fused",
        "text unknown", "text delimiter", "unigram strip", "unigram bytes", "unigram trained", "bert uncased", "bert accents",
        "bert unclean", "wordpiece other prefix")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("*.json"):
        old.unlink()
    texts = [t for t in hf.texts(400, 11) if t and len(t) < 60][:40]
    out = {"texts": texts, "cases": []}
    rules = "\n".join("%s\t%s" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)) for a, b in
                      (("ﬁ", "fi"), ("\u0301", ""), ("e\u0301", "\u00e9"), ("\u00e9\u0301", "e"), ("\u3000", " "), ("½", "1⁄2"), ("\t", " "), ("\n", " "), ("\r\n", "  ")))
    for name, t in hf.cases(lib.corpus(500), .45, rules):
        if name not in KEEP:
            continue
        j = json.loads(t.to_str())
        file = name.replace(" ", "-") + ".json"
        (OUT / file).write_text(json.dumps(j, ensure_ascii=False, separators=(",", ":")) + "\n")
        ids = lib.hf_ids(t, texts)
        odd = {t.token_to_id(a.content) for a in hf.FLAGS if a.normalized} - {None}
        word_piece = j["model"]["type"] == "WordPiece"
        back = [None if word_piece or odd & set(w) or (w and t.id_to_token(w[0]) == "<s>") else t.decode(w, skip_special_tokens=False) for w in ids]
        out["cases"].append({"file": file, "ids": ids, "decoded": [None if b and "\ufffd" in b else b for b in back]})
    assert len(out["cases"]) == len(KEEP), sorted(set(KEEP) - {c["file"] for c in out["cases"]})
    (OUT / "ids.json").write_text(json.dumps(out, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
