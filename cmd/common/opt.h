/* common/opt.h - options of a program: one table of rows.
 *
 * The table drives parsing, the check of conflicting options, --help and the shell completions;
 * scripts/check-docs compares it with the man page. Parsing uses getopt_long, but abbreviated names are
 * errors. No function here prints or exits. Confined to one thread: getopt keeps its position in
 * globals. */
#ifndef COMMON_OPT_H
#define COMMON_OPT_H
#include <stddef.h>
#include <infer/status.h>
#include "base/arena.h"
#include "base/buf.h"

enum opt_kind {
	OPT_END,
	/* A section of --help: `name` and the heading `help`. Its `modes` are the
	 * default for the rows of the section. */
	OPT_GROUP,
	/* The kinds below name the type of the field at offset `at`. If `arg` is "[=...]", the value may be
	 * left out. */
	OPT_FLAG, /* int: set to `value` */
	OPT_MORE, /* int: number of times given */
	OPT_LAST, /* like OPT_FLAG, and parsing ends: --version */
	OPT_HELP, /* const char *: --help=SECTION, --help SECTION, "" without one; parsing ends */
	OPT_INT,  /* int64_t in [lo, hi]; `value` if left out */
	OPT_BITS, /* struct opt_bits: any 64-bit number, signed or unsigned */
	/* uint64_t, bytes in [lo, hi]: 4096, 64K, 64KiB, 16M, 4G, 1T (powers of 1024), 64KB (of 1000) */
	OPT_SIZE,
	OPT_NUM,       /* double in [lo, hi] */
	OPT_NUM_GIVEN, /* struct opt_number in [lo, hi]: a double, and 1 if it was given */
	OPT_STR,       /* const char *, not empty; "" if left out */
	OPT_LIST,      /* struct opt_list: each occurrence is appended; not empty */
	OPT_PICK,      /* int: index of a word of `arg`, "text|jsonl|tokens"; `value` if left out */
	OPT_ROWS,      /* replaced by the rows that the function `rows` writes */
};

enum opt_mark {
	OPT_RECORDED = 1 << 0, /* recorded in the flags of the run record */
	OPT_ABOVE_LO = 1 << 1, /* lo itself is out of range */
	OPT_WHOLE = 1 << 2,    /* OPT_NUM_GIVEN: an integer */
	OPT_COMMON = 1 << 3,   /* listed by -h */
	OPT_KILO = 1 << 4,     /* OPT_INT: 32k is 32 * 1024, 1M 1024 * 1024 */
	OPT_SERVER = 1 << 5,   /* infer-run: may be combined with --server */
};

/* `modes` of an option allowed in every mode, in a group that is limited to some modes. */
enum { OPT_ALL_MODES = 0x7fffffff };

struct opt;
/* Write at most `room` rows for a struct at offset `at`; returns their number. */
typedef int opt_rows_fn(struct opt *to, int room, size_t at);
struct opt {
	enum opt_kind kind;
	char key;         /* short option; 0: none */
	const char *name; /* long option without dashes; NULL: none */
	const char *arg;  /* name of the value in --help; NULL: takes no value */
	const char *help;
	size_t at; /* offset of the field in the program's options */
	double lo, hi;
	int value;
	unsigned marks;    /* bits of enum opt_mark */
	opt_rows_fn *rows; /* OPT_ROWS: writes the rows */
	double usual;      /* OPT_NUM_GIVEN: the default that --help prints */
	/* Values for completion: words separated by spaces, with a leading comma if the option takes
	 * several; or "@file", "@model", "@isa", "@machine", "@stages". NULL: unknown. */
	const char *values;

	/* Relations to other options, checked by opt_check(). A mode is what a program does: one
	 * sub-command, or the effect of one option such as --score. Modes are bits that the program
	 * defines. `with` and `without` are options separated by spaces: a long name, a letter, or
	 * "name=word" for one word of an OPT_PICK. */
	/* Modes in which the option is allowed; 0: those of its group, or all if the group has none. */
	unsigned modes;
	unsigned selects;    /* the mode that the option selects; 0: none */
	const char *with;    /* one of these options must be given too; NULL: none needed */
	const char *without; /* options that must not be given too, itself ignored; NULL: none */
};

/* Texts borrowed from argv. */
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

/* The table is expanded before use: opt_rows() replaces each OPT_ROWS and applies the modes of groups.
 * Every function below takes an expanded table. */
enum { OPT_ROWS_MAX = 128 };
void opt_rows(struct opt to[OPT_ROWS_MAX], const struct opt *rows);

/* Results of parsing other than the values of options. */
struct opt_rest {
	char *const *words; /* arguments that are not options; borrowed from argv */
	int n_words;
	struct opt_list record; /* options marked OPT_RECORDED, "--ctx=512", in the order given */
	unsigned char given[OPT_ROWS_MAX]; /* by index of the row: 1 if argv has the option */
	struct arena mem;                  /* holds the arrays of all lists */
};
void opt_rest_init(struct opt_rest *rest);
void opt_rest_fini(struct opt_rest *rest);

/* Parse argv into `into`, which the caller has filled with the defaults. May reorder argv. Values of
 * options must be UTF-8; other words may be any bytes.
 * INFER_EINVAL  an option is unknown or abbreviated, or its value is missing, unexpected, malformed or
 *               out of range; err names the option */
int opt_parse(const struct opt *rows, void *into, int argc, char **argv, struct opt_rest *rest,
              infer_error *err);

/* Set the field of one row from `text`, as parsing would; the option does not count as given. `from`
 * names the source in messages: an option, or a variable of the environment. */
int opt_value(const struct opt *row, void *into, const char *text, const char *from,
              struct arena *mem, infer_error *err);

/* ---- opt_check.c ---- */

struct opt_modes {
	unsigned active;          /* mode bit of the sub-command */
	const char *const *names; /* sub-commands by bit number; NULL: options select the mode */
};

/* Check that the options given go together: `modes`, `with` and `without` of their rows. `values`: the
 * program's options after opt_parse().
 * INFER_EINVAL  they do not; err names two options, or the sub-commands that an option goes with */
int opt_check(const struct opt *rows, const void *values, const struct opt_rest *rest,
              const struct opt_modes *modes, infer_error *err);
/* Return the first option given whose row lacks `mark`, or NULL. */
const struct opt *opt_without_mark(const struct opt *rows, const struct opt_rest *rest,
                                   unsigned mark);

enum { OPT_NAME_MAX = 40 };
/* Write the name of an option to `to`, with dashes: the long one if there is one. Returns `to`. */
const char *opt_name(const struct opt *row, char to[OPT_NAME_MAX + 3]);
#endif
