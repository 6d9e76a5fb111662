/* common/opt.h - options: one table of rows drives parsing, --help and the completions of
 * shells, and is compared with the man pages.  Parsing uses getopt_long, but does not accept
 * abbreviated names.  Nothing here prints or exits.  Confined: getopt keeps its position in
 * globals. */
#ifndef COMMON_OPT_H
#define COMMON_OPT_H
#include <stddef.h>
#include <infer/status.h>
#include "base/arena.h"
#include "base/buf.h"

enum opt_kind {
	OPT_END,
	OPT_GROUP, /* a section of --help with the name `name` and the heading `help` */
	OPT_FLAG,  /* int: takes `value` */
	OPT_MORE,  /* int: counts the occurrences */
	OPT_LAST,  /* like FLAG, and parsing ends: --version */
	OPT_HELP,  /* the same, const char *: --help=SECTION, --help SECTION; "" without one */
	OPT_INT,   /* int64_t in [lo, hi]; without a text, where arg is "[=...]": `value` */
	OPT_BITS,  /* struct opt_bits: any number of 64 bits, with or without sign */
	/* uint64_t, bytes in [lo, hi]: 4096, 64K, 64KiB, 16M, 4G, 1T (powers of 1024), 64KB (of 1000) */
	OPT_SIZE,
	OPT_NUM,   /* double in [lo, hi] */
	OPT_GIVEN, /* struct opt_number in [lo, hi] */
	OPT_STR,   /* const char *, not empty; without a text, where arg is "[=...]": "" */
	OPT_LIST,  /* struct opt_list: appended each time, not empty */
	/* int: which of the words of `arg`, "text|jsonl|tokens"; in "[=...]": `value` without one */
	OPT_PICK,
	OPT_ROWS, /* is replaced by the rows that `rows` writes */
};

enum opt_mark {
	OPT_RECORDED = 1 << 0, /* recorded in the flags of the run record */
	OPT_ABOVE_LO = 1 << 1, /* lo itself is out of range */
	OPT_WHOLE = 1 << 2,    /* for OPT_GIVEN: an integer */
	OPT_COMMON = 1 << 3,   /* -h has it */
	OPT_KILO = 1 << 4,     /* of OPT_INT: 32k is 32 * 1024 */
};

struct opt;
/* Write at most `room` rows for values that begin at this offset; returns their number. */
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
	double usual;      /* for OPT_GIVEN: the end of its help */
	/* its values, for completion: words, with a leading comma if it takes a list of them, or
	 * "@file", "@model", "@isa", "@stages"; NULL: unknown */
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

/* The arguments that are not options, and what the record needs. */
struct opt_rest {
	char *const *words;
	int n_words;            /* borrowed from argv */
	struct opt_list record; /* "--ctx=512", in the order given */
	struct arena mem;       /* of every list */
};

/* The table with every OPT_ROWS replaced, as the functions below take it. */
enum { OPT_ROWS_MAX = 128 };
void opt_rows(struct opt to[OPT_ROWS_MAX], const struct opt *rows);

/* Fill `into`, which already has the defaults, from argv, whose words may be reordered.  Values of
 * options must be UTF-8; other words may be any bytes.
 * INFER_EINVAL  an option is unknown or abbreviated, or a value is missing, unexpected,
 * malformed or out of range; names the option */
int opt_parse(const struct opt *rows, void *into, int argc, char **argv, struct opt_rest *rest,
              infer_error *err);
void opt_rest_init(struct opt_rest *rest);
void opt_rest_fini(struct opt_rest *rest);

/* Set one value as if it had been given for the row, for values from the environment; from: its
 * name in messages. */
int opt_value(const struct opt *row, void *into, const char *text, const char *from,
              struct arena *mem, infer_error *err);
#endif
