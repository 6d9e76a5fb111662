/* record/kind_list.h - every kind of record, in the order of enum infer_kind.
 *
 * KIND(value, name, programs, about): which programs write it ("": people do, for ours), and what
 * one is; infer-jsonl(5) has a section of that name, which begins with that. */
KIND(COMPLETION, "completion", "infer-run", "a finished request")
KIND(REQUEST, "request", "", "a request")
KIND(TOKEN, "token", "infer-run infer-inspect", "one token")
KIND(SCORE, "score", "infer-run", "a scored text")
KIND(REPLAY, "replay", "infer-run", "a record that was run again")
KIND(ERROR, "error", "infer-run", "a failed request")
KIND(STATS, "stats", "infer-run", "one run of infer-run")
KIND(BENCH, "bench", "infer-bench", "a measurement")
KIND(EVAL, "eval", "infer-quant", "an evaluation")
KIND(FILE, "file", "infer-inspect", "a model file")
KIND(META, "meta", "infer-inspect", "one key of the metadata")
KIND(TENSOR, "tensor", "infer-inspect", "one tensor")
KIND(VERIFY, "verify", "infer-inspect", "a model whose files were read completely")
KIND(DIFF, "diff", "infer-inspect", "a difference between two model files")
KIND(TEMPLATE, "template", "infer-inspect", "the chat template of a model")
KIND(GRAMMAR, "grammar", "infer-inspect", "a constraint")
KIND(HW, "hw", "infer-inspect", "this machine")
KIND(IMATRIX, "imatrix", "infer-quant", "an importance matrix, or one tensor of it")
KIND(QUANT, "quant", "infer-quant", "a tensor, or a model, that was quantised")
KIND(ACCESS, "access", "infer-serve", "a request to a server")
