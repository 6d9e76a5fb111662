/* infer-quant/opts.h - the options of infer-quant.  Included by main.c alone. */
#ifndef INFER_QUANT_OPTS_H
#define INFER_QUANT_OPTS_H
#include "quant.h"

#define AT(field) offsetof(struct quant_opts, field)
static const struct opt quant_rows[] = {
	{ OPT_GROUP, .name = "recipe", .help = "What becomes of the tensors" },
	{ OPT_STR, 0, "type", "TYPE", "a type, as Q8_0, or a mix of types, as Q4_K_M", AT(type),
	  .marks = OPT_COMMON,
	  .values = "F32 F16 BF16 Q8_0 Q6_K Q5_K_M Q5_K_S Q5_K Q4_K_M Q4_K_S Q4_K Q3_K_L Q3_K_M "
	            "Q3_K_S Q3_K Q2_K Q2_K_S Q5_1 Q5_0 Q4_1 Q4_0 IQ4_NL IQ4_XS IQ3_M IQ3_S "
	            "IQ3_XS IQ3_XXS IQ2_M IQ2_S IQ2_XS IQ2_XXS IQ1_M IQ1_S TQ2_0 TQ1_0 Q2_0 Q1_0 "
	            "MXFP4_MOE MXFP4 NVFP4" },
	{ OPT_STR, 0, "method", "METHOD", "search; rtn: no search; gptq: compensate errors",
	  AT(method), .values = "search rtn gptq" },
	{ OPT_LIST, 0, "calibration", "TEXT", "text for gptq, --bpw ..., if not -f",
	  AT(calibration), .values = "@file" },
	{ OPT_FLAG, 0, "copy", NULL, "change no tensor: another split, compression", AT(copy),
	  .value = 1 },
	{ OPT_FLAG, 0, "merge", NULL, "join a split model; of imatrix: add files up", AT(merge),
	  .value = 1 },
	{ OPT_LIST, 0, "merge-lora", "FILE[=SCALE]", "add a LoRA adapter to the weights, repeated",
	  AT(merge_lora), .values = "@file" },
	{ OPT_LIST, 0, "keep", "PATTERN=TYPE", "tensors of such names in that type", AT(keep),
	  .marks = OPT_COMMON },
	{ OPT_STR, 0, "imatrix", "FILE", "importances of columns, GGUF or .dat", AT(imatrix),
	  .marks = OPT_COMMON, .values = "@file" },
	{ OPT_SIZE, 0, "max-bytes", "SIZE", "types for a file of that size, by measuring",
	  AT(max_bytes), 1, 1e18, .marks = OPT_COMMON },
	{ OPT_NUM, 0, "bpw", "X", "the same, for X bits of a weight", AT(bpw), 0.5, 64,
	  .marks = OPT_COMMON },
	{ OPT_STR, 0, "recipe", "FILE", "all of this from a YAML file, infer-recipe(5)", AT(recipe),
	  .values = "@file" },
	{ OPT_STR, 0, "save-recipe", "FILE", "write the recipe of OUT to FILE", AT(save_recipe),
	  .values = "@file" },

	{ OPT_GROUP, .name = "output", .help = "Output" },
	{ OPT_FLAG, 0, "dry-run", NULL, "write nothing: show what would be written", AT(dry_run),
	  .value = 1, .marks = OPT_COMMON },
	{ OPT_SIZE, 0, "split-max-size", "SIZE", "several files, none larger: 4G, 500M",
	  AT(shard_bytes), 1, 1e18, .marks = OPT_COMMON },
	{ OPT_INT, 0, "zstd", "[=LEVEL]", "compressed, with a level from 1 to 22 (3)", AT(zstd), 1,
	  22, .value = 3 },
	{ OPT_FLAG, 0, "report", NULL, "compare OUT with IN on -f TEXT; store it in OUT",
	  AT(report), .value = 1 },
	{ OPT_FLAG, 0, "verify", NULL, "read all of it again, and compare", AT(verify),
	  .value = 1 },
	{ OPT_FLAG, 0, "json", NULL, "JSON lines: each tensor, and all; the evaluation", AT(json),
	  .value = 1 },

	{ OPT_GROUP, .name = "eval", .help = "eval: how well a model predicts" },
	MODEL_ROW(struct quant_opts, model),
	{ OPT_LIST, 'f', "file", "TEXT", "the text that is predicted or measured", AT(texts),
	  .marks = OPT_COMMON, .values = "@file" },
	{ OPT_STR, 0, "ref", "MODEL", "compare with a model of the same vocabulary", AT(ref),
	  .values = "@model" },
	{ OPT_STR, 0, "beside", "MODEL", "and with this one, position by position", AT(beside),
	  .values = "@model" },
	{ OPT_STR, 0, "choices", "FILE", "answer the questions of FILE, JSON lines", AT(choices),
	  .values = "@file" },
	{ OPT_STR, 0, "into", "FILE", "keep the figures in FILE, the model measured", AT(into),
	  .values = "@file" },
	{ OPT_STR, 0, "record", "FILE", "append the JSON line to FILE too", AT(record),
	  .values = "@file" },

	{ OPT_GROUP, .name = "imatrix", .help = "imatrix: which columns matter (-m, -f)" },
	{ OPT_STR, 0, "out", "FILE", "write the importance matrix to FILE", AT(out),
	  .values = "@file" },
	{ OPT_FLAG, 0, "show", NULL, "show what importance matrices hold", AT(show), .value = 1 },

	{ OPT_GROUP, .name = "engine",
	  .help = "Machine and engine (but -t, --isa of eval, imatrix, gptq; -c: a window)" },
	ENGINE_ROWS(struct quant_opts, engine),

	START_ROWS(struct quant_opts, start),
};
#undef AT
#endif
