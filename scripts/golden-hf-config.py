#!/usr/bin/env python3
"""Make tests/golden/hf/config/: config.json of the checkpoints behind tests/golden/logits, as transformers writes it.

  golden-hf-config.py     rewrite the files (needs transformers, numpy)

NAME.json belongs to tests/golden/logits/NAME.gguf: the same model in both forms.  What the case gives as a config.json of the hub
is taken as it is.  tests/unit/arch/test_keys.c reads the parameters out of both and compares them.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "tests", "golden", "hf", "config")
sys.path.insert(0, HERE)
from golden_logits_cases import CASES  # noqa: E402


def config_of(case):
    import transformers
    if "old" in case:
        return CASES[case["old"]]["hub"]
    if "hub" in case:
        return case["hub"]
    given = dict(case["config"], num_hidden_layers=case["config"].get("num_hidden_layers", 2))
    given.setdefault("pad_token_id", None)
    config = getattr(transformers, case["hf"] + "Config")(**given)
    config.architectures = [case.get("class", case["hf"] + "ForCausalLM")]
    return json.loads(config.to_json_string())


def main():
    os.makedirs(OUT, exist_ok=True)
    for name, case in CASES.items():
        if "types" in case:     # the same parameters as others
            continue
        config = config_of(case)
        config.pop("transformers_version", None)
        with open(os.path.join(OUT, name + ".json"), "w") as f:
            json.dump(config, f, sort_keys=True)
            f.write("\n")


if __name__ == "__main__":
    main()
