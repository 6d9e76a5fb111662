/* common/opt.h - options: one table of rows drives parsing, --help and the completions of
 * shells, and is held against the man pages.
 *
 * Parsing stands on getopt_long, but takes no abbreviated names.  It prints nothing and ends
 * nothing.  Confined: getopt keeps its place in globals. */
#ifndef COMMON_OPT_H
#define COMMON_OPT_H
#include <stddef.h>
#include <infer/status.h>
#include "base/arena.h"
#include "base/buf.h"

enum opt_kind {
	OPT_END,
	OPT_GROUP, /* a section of --help, which calls it `name`: its heading is `help` */
	OPT_FLAG,  /* int: takes `value` */
	OPT_MORE,  /* int: one more each time */
	OPT_LAST,  /* as FLAG, and parsing ends there: --version */
	OPT_HELP,  /* the same, const char *: --help=SECTION, --help SECTION; "" without one */
	OPT_INT,   /* int64_t in [lo, hi] */
	OPT_BITS,  /* struct opt_bits: any number of 64 bits, with or without sign */
	OPT_SIZE,  /* uint64_t, bytes in [lo, hi]: 4096, 64K, 16M, 4G, 1T (powers of 1024) */
	OPT_NUM,   /* double in [lo, hi] */
	OPT_GIVEN, /* struct opt_number in [lo, hi] */
	OPT_STR,   /* const char *, not empty */
	OPT_LIST,  /* struct opt_list: one more each time, not empty */
	OPT_PICK,  /* int: which of the words of `arg`, "text|jsonl|tokens" */
	OPT_ROWS,  /* stands for the rows that `rows` writes */
};

enum opt_mark {
	OPT_RECORDED = 1 << 0, /* belongs into the flags of the run record */
	OPT_ABOVE_LO = 1 << 1, /* lo itself is out of range */
	OPT_WHOLE = 1 << 2,    /* of OPT_GIVEN: a whole number */
	OPT_COMMON = 1 << 3,   /* -h has it */
};

struct opt;
/* Write rows, `room` at most, for values that begin at this offset; returns how many. */
typedef int opt_rows_fn(struct opt *to, int room, size_t at);
struct opt {
	enum opt_kind kind;
	char key;         /* the short option; 0: none */
	const char *name; /* the long one, without dashes; NULL: none */
	const char *arg;  /* its value as --help names it; NULL: takes none */
	const char *help;
	size_t at; /* offset of the value in the program's options */
	double lo, hi;
	int value;
	unsigned marks;
	opt_rows_fn *rows; /* of OPT_ROWS */
	double usual;      /* of OPT_GIVEN: --help ends with it */
	/* what its value may be, for completion: words, which begin with a comma where it is a list
	 * of them, or "@file", "@model", "@isa", "@stages"; NULL: it is not known */
	const char *values;
};

/* borrowed from argv */
struct opt_list {
	const char **at;
	int n;
};
struct opt_bits {
	uint64_t value;
	int given;
};
struct opt_number {
	double value;
	int given;
};

/* What is left when options are taken away, and what the record wants to know. */
struct opt_rest {
	char *const *words;
	int n_words;            /* borrowed from argv */
	struct opt_list record; /* "--ctx=512", in the order given */
	struct arena mem;       /* of every list */
};

/* The table with every OPT_ROWS replaced, as the functions below want it. */
enum { OPT_ROWS_MAX = 128 };
void opt_rows(struct opt to[OPT_ROWS_MAX], const struct opt *rows);

/* Fill `into` (defaults are there already) from argv, whose words may be reordered.  Values of
 * options must be UTF-8, words may be any bytes.
 * INFER_EINVAL  unknown or abbreviated option, value missing, not wanted, malformed or out of
 * range; names the option */
int opt_parse(const struct opt *rows, void *into, int argc, char **argv, struct opt_rest *rest,
              infer_error *err);
void opt_rest_init(struct opt_rest *rest);
void opt_rest_fini(struct opt_rest *rest);

/* One value, as if given for the row: for values that come from the environment; from: what to call
 * it in messages. */
int opt_value(const struct opt *row, void *into, const char *text, const char *from,
              struct arena *mem, infer_error *err);
#endif
