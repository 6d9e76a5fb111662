/* infer-inspect/opts.h - the options of infer-inspect.  Included only by main.c. */
#ifndef INFER_INSPECT_OPTS_H
#define INFER_INSPECT_OPTS_H
#include "common/model.h"
#include "inspect.h"

/* clang-format off */
#define PLAN_ROWS(T, m) \
	{ OPT_INT, 'c', "ctx", "N", "context of each user (prompt and output)", offsetof(T, m.ctx), 1, \
	  INT32_MAX, .marks = OPT_KILO }, \
	DEVICE_ROW(offsetof(T, m.device), 0), \
	{ OPT_INT, 0, "users", "N", "users at once (1)", offsetof(T, m.users), 1, 4096 }, \
	{ OPT_INT, 0, "prompt", "N", "tokens of a prompt (512)", offsetof(T, m.prompt), 1, 1 << 30, \
	  .marks = OPT_KILO }, \
	{ OPT_INT, 0, "output", "N", "tokens of an answer (128)", offsetof(T, m.output), 1, 1 << 30, \
	  .marks = OPT_KILO }, \
	{ OPT_INT, 0, "shared-prefix", "N", "tokens that all prompts begin with (0)", \
	  offsetof(T, m.shared), 0, 1 << 30, .marks = OPT_KILO }, \
	{ OPT_NUM, 0, "ttft", "MS", "wanted: time to the first token", offsetof(T, m.ttft_ms), 0, 1e9 }, \
	{ OPT_NUM, 0, "tpot", "MS", "wanted: time for each token after it", offsetof(T, m.tpot_ms), 0, \
	  1e9 }, \
	{ OPT_SIZE, 0, "budget", "SIZE", "memory: 8G (what the machine has)", offsetof(T, m.budget), 1, \
	  1e18 }, \
	{ OPT_NUM, 0, "price", "X", "of the machine for an hour", offsetof(T, m.price), 0, 1e9 }, \
	{ OPT_STR, 0, "kv-type", "TYPE[,TYPE]", \
	  "type of the cache: " KV_NAMES "; of V after a comma (f16)", offsetof(T, m.kv_type), \
	  .values = "," KV_WORDS }, \
	{ OPT_INT, 0, "prefill-chunk", "N", "most prompt tokens in a step (512)", offsetof(T, m.chunk), 1, \
	  65536 }, \
	{ OPT_INT, 't', "threads", "N", "threads (all that the machine has)", offsetof(T, m.threads), 1, \
	  1024 }, \
	{ OPT_LIST, 0, "lora", "FILE", "an adapter that all rows use, in GGUF or of PEFT", \
	  offsetof(T, m.loras), .values = "@file" }, \
	{ OPT_FLAG, 0, "table", NULL, "types and contexts of one model, or machines", \
	  offsetof(T, m.table), .value = 1 }
/* clang-format on */

#define AT(field) offsetof(struct inspect_opts, field)
static const struct opt inspect_rows[] = {
	{ OPT_GROUP, .name = "model", .help = "Model and output" },
	{ OPT_STR, 'm', "model", "MODEL", "file, directory, hf:ORG/REPO, demo (INFER_MODEL)",
	  AT(model), .marks = OPT_COMMON | OPT_RECORDED, /* to distinguish -m from INFER_MODEL */
	  .values = "@model" },
	{ OPT_FLAG, 0, "json", NULL, "JSON lines instead of text", AT(json), .value = 1,
	  .marks = OPT_COMMON },
	{ OPT_FLAG, 0, "all", NULL, "show: every key; hw: every loop", AT(all), .value = 1 },

	{ OPT_GROUP, .name = "tensors", .help = "Table of tensors" },
	{ OPT_STR, 0, "sort", "COLUMN", "bytes, elements, bits, type, name; rms, range, outliers",
	  AT(sort), .values = "offset bytes type bits elements name rms range outliers" },
	{ OPT_STR, 0, "filter", "PATTERN", "only tensors of such names: 'blk.*.ffn_*', attn_q",
	  AT(filter) },
	{ OPT_FLAG, 0, "stats", NULL, "range, rms, outliers and a histogram of the values",
	  AT(stats), .value = 1 },

	{ OPT_GROUP, .name = "template", .help = "Conversation of template" },
	CHAT_ROWS(struct inspect_opts, 0, chat),
	{ OPT_FLAG, 0, "source", NULL, "print the template itself", AT(source), .value = 1 },

	{ OPT_GROUP, .name = "text", .help = "Text of tokens, or of the user" },
	{ OPT_LIST, 'f', "file", "FILE", "add a file to the text; - is standard input", AT(files),
	  .values = "@file" },
	{ OPT_FLAG, 0, "no-stdin", NULL, "leave standard input alone", AT(no_stdin), .value = 1 },
	{ OPT_FLAG, 0, "raw", NULL, "any bytes, not only UTF-8", AT(raw), .value = 1 },
	{ OPT_FLAG, 0, "special", NULL, "parse the text of special tokens", AT(special),
	  .value = 1 },
	{ OPT_FLAG, 0, "bos", NULL, "add the BOS and EOS that the model asks for", AT(bos),
	  .value = 1 },

	{ OPT_GROUP, .name = "grammar", .help = "Constraint of grammar" },
	{ OPT_PICK, 0, "as", "auto|schema|gbnf|regex|lark", "what the file is", AT(as) },
	{ OPT_LIST, 0, "check", "FILE", "whether the text of this file satisfies it", AT(checks),
	  .values = "@file" },
	{ OPT_INT, 0, "sample", "N", "N random texts that satisfy it", AT(samples), 0, 1e9 },
	{ OPT_BITS, 0, "seed", "N", "of the random texts", AT(seed) },
	{ OPT_FLAG, 0, "format-annotation", NULL, "in a schema, format is a remark", AT(annotate),
	  .value = 1 },
	{ OPT_FLAG, 0, "strict-formats", NULL, "refuse a schema with a format that is not known",
	  AT(strict_formats), .value = 1 },
	{ OPT_FLAG, 0, "lax-schema", NULL,
	  "ignore, by name, what a schema asks that cannot be enforced", AT(lax), .value = 1 },
	{ OPT_INT, 0, "constraint-budget", "N", "steps that it may take to compile (67108864)",
	  AT(budget), 1, 1e15 },

	{ OPT_GROUP, .name = "plan", .help = "Work of plan" },
	PLAN_ROWS(struct inspect_opts, plan),

	{ OPT_GROUP, .name = "machine", .help = "The machine of hw and plan" },
	{ OPT_STR, 0, "hw", "NAME|FILE", "a described machine: h100*8, or YAML; all: names",
	  AT(machine), .values = "@machine" },
	{ OPT_FLAG, 0, "again", NULL, "measure, whatever was measured before", AT(again),
	  .value = 1 },

	START_ROWS(struct inspect_opts, start),
};
#undef AT
#endif
