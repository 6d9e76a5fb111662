/* common/opt.c - parse options from rows. */
#include "common/opt.h"
#include "common/opt_other.h"
#include "base/nearest.h"
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LONG = 256 }; /* getopt_long returns LONG + the index of the row for a long option */

void opt_rows(struct opt to[OPT_ROWS_MAX], const struct opt *rows)
{
	unsigned group_modes = 0;
	int n = 0;

	for (;; rows++) {
		int first = n;

		must(n < OPT_ROWS_MAX);
		if (rows->kind == OPT_ROWS)
			n += rows->rows(to + n, OPT_ROWS_MAX - n, rows->at);
		else
			to[n++] = *rows;
		if (rows->kind == OPT_END)
			return;
		if (rows->kind == OPT_GROUP)
			group_modes = rows->modes;
		for (int i = first; i < n; i++)
			if (!to[i].modes)
				to[i].modes = group_modes;
	}
}

/* The two tables that getopt_long reads. */
struct tables {
	char short_opts[2 * OPT_ROWS_MAX + 2];
	struct option long_opts[OPT_ROWS_MAX + 1];
};

static void fill_tables(struct tables *t, const struct opt *rows)
{
	char *s = t->short_opts;
	int n = 0;

	*s++ = ':';
	for (int i = 0; rows[i].kind != OPT_END; i++) {
		const struct opt *o = &rows[i];

		must(i < OPT_ROWS_MAX);
		if (o->kind == OPT_GROUP)
			continue;
		if (o->key) {
			*s++ = o->key;
			if (o->arg)
				*s++ = ':';
		}
		if (o->name) {
			must(strlen(o->name) < OPT_NAME_MAX);
			t->long_opts[n++] =
				(struct option){ o->name,
				                 o->arg && *o->arg == '[' ? optional_argument
				                 : o->arg                 ? required_argument
				                                          : no_argument,
				                 NULL, LONG + i };
		}
	}
	*s = 0;
	t->long_opts[n] = (struct option){ 0 };
}

static const struct opt *find_short_option(const struct opt *rows, int key)
{
	for (; rows->kind != OPT_END; rows++)
		if (rows->kind != OPT_GROUP && rows->key == key)
			return rows;
	return NULL;
}

/* Return the long name that is most similar to `name`, or NULL. */
static const char *nearest_name(const struct opt *rows, const char *name)
{
	struct nearest n;

	nearest_begin(&n, name);
	for (; rows->kind != OPT_END; rows++)
		if (rows->kind != OPT_GROUP && rows->name)
			nearest_try(&n, rows->name);
	return n.best;
}

static int unknown_long(const struct opt *rows, const char *typed, infer_error *err)
{
	char name[OPT_NAME_MAX] = "";
	size_t n = strcspn(typed, "=");

	if (n < sizeof name)
		memcpy(name, typed, n);
	const char *other = opt_other(rows, name, 0), *meant = nearest_name(rows, name);

	if (!other && !meant)
		other = opt_other(rows, name, 1);
	if (other)
		return err_set(err, INFER_EINVAL, "unknown option --%s; %s", name, other);
	if (meant)
		return err_set(err, INFER_EINVAL, "unknown option --%.*s; did you mean --%s?",
		               (int)(n < 80 ? n : 80), typed, meant);
	return err_set(err, INFER_EINVAL, "unknown option --%.*s; --help lists them all",
	               (int)(n < 80 ? n : 80), typed);
}

const char *opt_name(const struct opt *o, char to[OPT_NAME_MAX + 3])
{
	if (o->name)
		snprintf(to, OPT_NAME_MAX + 3, "--%s", o->name);
	else
		snprintf(to, OPT_NAME_MAX + 3, "-%c", o->key);
	return to;
}

static int out_of_range(const struct opt *o, const char *text, const char *from, infer_error *err)
{
	return err_set(err, INFER_EINVAL, "%s: %.40s is out of range (%s%.15g ... %.15g)", from,
	               text, o->marks & OPT_ABOVE_LO ? "above " : "", o->lo, o->hi);
}

static int in_range(const struct opt *o, double v)
{
	return v <= o->hi && (o->marks & OPT_ABOVE_LO ? v > o->lo : v >= o->lo);
}

/* True if text is digits with an optional sign. strtoll alone also accepts leading space. */
static int is_integer(const char *text)
{
	if (*text == '-' || *text == '+')
		text++;
	return *text && !text[strspn(text, "0123456789")];
}

static int take_int(const struct opt *o, int64_t *v, const char *text, const char *from,
                    infer_error *err)
{
	size_t n = strlen(text);
	int unit = o->marks & OPT_KILO && n > 1 && n < 10 ? text[n - 1] | 0x20 : 0;
	int64_t factor = unit == 'k' ? 1024 : unit == 'm' ? 1024 * 1024 : 1;
	char digits[16] = "";

	memcpy(digits, text, factor > 1 ? n - 1 : 0);
	if (!is_integer(factor > 1 ? digits : text))
		return err_set(err, INFER_EINVAL, "%s: '%.40s' is not a whole number", from, text);
	errno = 0;
	int64_t x = strtoll(text, NULL, 10) * factor;

	if (errno || !in_range(o, (double)x))
		return out_of_range(o, text, from, err);
	*v = x;
	return INFER_OK;
}

static int take_bits(struct opt_bits *v, const char *text, const char *from, infer_error *err)
{
	if (!is_integer(text))
		return err_set(err, INFER_EINVAL, "%s: '%.40s' is not a whole number", from, text);
	errno = 0;
	uint64_t x = *text == '-' ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);

	if (errno)
		return err_set(err, INFER_EINVAL, "%s: %.40s does not fit 64 bits", from, text);
	*v = (struct opt_bits){ x, 1 };
	return INFER_OK;
}

/* Return the factor of a unit, case ignored: "" and B 1, K and KiB 1024, KB 1000 ...; 0: unknown unit. */
static uint64_t unit_factor(const char *unit)
{
	static const char units[] = "KMGT";
	uint64_t factor = 1, base = !strcasecmp(unit + !!*unit, "B") ? 1000 : 1024;
	const char *at = *unit ? strchr(units, *unit & ~0x20) : units;

	if (!*unit || !strcasecmp(unit, "B"))
		return 1;
	if (!at || !*at || (base == 1024 && unit[1] && strcasecmp(unit + 1, "iB")))
		return 0;
	for (const char *u = units; u <= at; u++)
		factor *= base;
	return factor;
}

static int take_size(const struct opt *o, uint64_t *v, const char *text, const char *from,
                     infer_error *err)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t factor = unit_factor(text + digits);

	if (!digits || !factor)
		return err_set(err, INFER_EINVAL,
		               "%s: '%.40s' is not a size: bytes, or with K, M, G or T", from,
		               text);
	errno = 0;
	uint64_t x = strtoull(text, NULL, 10);

	if (errno || x > UINT64_MAX / factor || !in_range(o, (double)(x * factor)))
		return out_of_range(o, text, from, err);
	*v = x * factor;
	return INFER_OK;
}

static int take_num(const struct opt *o, double *v, const char *text, const char *from,
                    infer_error *err)
{
	char *end = NULL;
	double x = strtod(text, &end);

	/* strtod also accepts space, hexadecimal, "inf" and "nan" */
	if (!*text || *end || text[strspn(text, "0123456789+-.eE")])
		return err_set(err, INFER_EINVAL, "%s: '%.40s' is not a number", from, text);
	if (!in_range(o, x))
		return out_of_range(o, text, from, err);
	*v = x;
	return INFER_OK;
}

static int take_given(const struct opt *o, struct opt_number *v, const char *text, const char *from,
                      infer_error *err)
{
	int64_t whole = 0;

	if (o->marks & OPT_WHOLE) {
		TRY(take_int(o, &whole, text, from, err));
		v->value = (double)whole;
	} else {
		TRY(take_num(o, &v->value, text, from, err));
	}
	v->given = 1;
	return INFER_OK;
}

/* Return the words "a|b" of `arg`, without a leading "[=" (optional value). */
static const char *words_of(const struct opt *o) { return o->arg + (*o->arg == '[' ? 2 : 0); }

static int unknown_word(const struct opt *o, const char *text, const char *from, infer_error *err)
{
	char word[OPT_NAME_MAX];
	size_t n;

	for (const char *p = words_of(o); *p && *p != ']'; p += n + (p[n] == '|')) {
		n = strcspn(p, "|]");
		snprintf(word, sizeof word, "%.*s", (int)n, p);
		if (strlen(text) < OPT_NAME_MAX && nearest_edits(text, word) == 1)
			return err_set(err, INFER_EINVAL, "%s: no '%s'; did you mean %s?", from,
			               text, word);
	}
	return err_set(err, INFER_EINVAL, "%s: '%.40s' is not one of %.*s", from, text,
	               (int)strcspn(words_of(o), "]"), words_of(o));
}

static int take_pick(const struct opt *o, int *v, const char *text, const char *from,
                     infer_error *err)
{
	const char *p = words_of(o);

	if (!text) {
		*v = o->value;
		return INFER_OK;
	}
	for (int i = 0;; i++) {
		size_t n = strcspn(p, "|]");

		if (strlen(text) == n && !memcmp(text, p, n)) {
			*v = i;
			return INFER_OK;
		}
		if (p[n] != '|')
			return unknown_word(o, text, from, err);
		p += n + 1;
	}
}

/* Append to a list. A full array is copied to one of twice the size; the arena frees the old one. */
static int list_add(struct opt_list *l, const char *text, struct arena *mem, infer_error *err)
{
	if ((l->n & (l->n - 1)) == 0) {
		const char **more = arena_alloc(mem, l->n ? 2 * (size_t)l->n : 1, sizeof *more);

		if (!more)
			return err_set(err, INFER_ENOMEM, "out of memory for options");
		if (l->n)
			memcpy(more, l->at, (size_t)l->n * sizeof *more);
		l->at = more;
	}
	l->at[l->n++] = text;
	return INFER_OK;
}

int opt_value(const struct opt *o, void *into, const char *text, const char *from,
              struct arena *mem, infer_error *err)
{
	void *at = (char *)into + o->at;

	if (text && utf8_check(text, strlen(text)) != strlen(text))
		return err_set(err, INFER_EINVAL, "%s: the value is not UTF-8", from);
	switch (o->kind) {
	case OPT_FLAG:
	case OPT_LAST:
		*(int *)at = o->value;
		return INFER_OK;
	case OPT_MORE:
		++*(int *)at;
		return INFER_OK;
	case OPT_INT:
		if (text)
			return take_int(o, at, text, from, err);
		*(int64_t *)at = o->value;
		return INFER_OK;
	case OPT_BITS:
		return take_bits(at, text, from, err);
	case OPT_SIZE:
		return take_size(o, at, text, from, err);
	case OPT_NUM:
		return take_num(o, at, text, from, err);
	case OPT_NUM_GIVEN:
		return take_given(o, at, text, from, err);
	case OPT_PICK:
		return take_pick(o, at, text, from, err);
	case OPT_HELP:
		*(const char **)at = text ? text : "";
		return INFER_OK;
	case OPT_STR:
	case OPT_LIST:
		if (!text) {
			*(const char **)at = "";
			return INFER_OK;
		}
		if (!*text)
			return err_set(err, INFER_EINVAL, "%s: the value is empty", from);
		if (o->kind == OPT_LIST)
			return list_add(at, text, mem, err);
		*(const char **)at = text;
		return INFER_OK;
	case OPT_END:
	case OPT_GROUP:
	case OPT_ROWS:
		break;
	}
	must(!"a row that takes values");
	return INFER_EINVAL;
}

static int record_add(struct opt_rest *rest, const struct opt *o, const char *text,
                      infer_error *err)
{
	char name[OPT_NAME_MAX + 3];
	struct buf b;

	if (!(o->marks & OPT_RECORDED))
		return INFER_OK;
	buf_init(&b, MEM_BASE);
	buf_puts(&b, opt_name(o, name));
	if (text) {
		buf_putc(&b, '=');
		buf_puts(&b, text);
	}
	char *kept = b.bad ? NULL : arena_strndup(&rest->mem, b.at, b.len);

	buf_fini(&b);
	if (!kept)
		return err_set(err, INFER_ENOMEM, "out of memory for options");
	return list_add(&rest->record, kept, &rest->mem, err);
}

/* Return the argument of the long option that getopt_long has just read, without dashes; NULL if the
 * option was a short one. */
static const char *typed_long(char **argv, int key)
{
	int i = optind - 1;

	if (key >= LONG && optarg && optarg == argv[i])
		i--;
	return i > 0 && !strncmp(argv[i], "--", 2) && argv[i][2] ? argv[i] + 2 : NULL;
}

/* Return the argument with the unknown short option if it looks like text, such as a Markdown list item
 * "- item"; else NULL. If the option was its last character, getopt has already advanced optind. */
static const char *find_prose(char **argv)
{
	for (int i = optind; i > 0 && i >= optind - 1; i--)
		if (argv[i] && argv[i][0] == '-' && argv[i][1] && argv[i][1] != '-' &&
		    strchr(argv[i], optopt) && strpbrk(argv[i], " \t\n"))
			return argv[i];
	return NULL;
}

static int refuse_prose(const char *word, infer_error *err)
{
	return err_set(err, INFER_EINVAL,
	               "'%.40s' is not an option; put -- before text that begins with -", word);
}

/* Set the error after getopt_long returned '?' or ':'. */
static int refuse_option(const struct opt *rows, char **argv, int key, infer_error *err)
{
	const char *typed = optopt >= LONG || !optopt ? typed_long(argv, key) : NULL;
	const struct opt *o = optopt >= LONG ? &rows[optopt - LONG]
	                      : optopt       ? find_short_option(rows, optopt)
	                                     : NULL;
	char name[OPT_NAME_MAX + 3];

	if (typed && !o && strcspn(typed, " \t\n") < strcspn(typed, "="))
		return refuse_prose(typed - 2, err);
	if (typed && (!o || strcspn(typed, "=") != strlen(o->name)))
		return unknown_long(rows, typed, err);
	if (!o && find_prose(argv))
		return refuse_prose(find_prose(argv), err);
	const char *other = o ? NULL : opt_other(rows, (const char[]){ (char)optopt, 0 }, 0);

	if (!o)
		return err_set(err, INFER_EINVAL, "unknown option -%c; %s", optopt,
		               other ? other : "--help lists them all");
	opt_name(o, name);
	if (!o->arg)
		return err_set(err, INFER_EINVAL, "%s takes no value", name);
	return err_set(err, INFER_EINVAL, "%s needs a value (%s)", name, o->arg);
}

/* Refuse -hf of llama.cpp, which getopt reads as -h. word: the argument; word[1]: its value. */
static int refuse_hub(const struct opt *rows, char *const *word, infer_error *err)
{
	const char *repo = word[1] && *word[1] != '-' ? word[1] : "ORG/REPO[:QUANT]";

	return err_set(err, INFER_EINVAL, "unknown option %.8s; a model of the hub is %shf:%.160s",
	               *word, opt_has(rows, "--model") ? "-m " : "",
	               strncmp(repo, "hf:", 3) ? repo : repo + 3);
}

static int is_hub(const char *word)
{
	return word && (!strcmp(word, "-hf") || !strcmp(word, "-hfr"));
}

/* Return the argument without its dash, "ngl" of -ngl, if getopt_long has just read its first letter and
 * there are more. Returns NULL if not, or if the others are the name of a file, as in -fREADME. */
static const char *find_cluster(const struct opt *rows, char *const *argv, int key)
{
	int letter = key == '?' || key == ':' ? optopt : key;
	const struct opt *o = letter < LONG ? find_short_option(rows, letter) : NULL;
	int attached = o && o->arg && optarg;
	const char *word = argv[attached ? optind - 1 : optind];

	if (letter >= LONG || !letter || !word || word[0] != '-' || word[1] != letter || !word[2] ||
	    (attached && optarg != word + 2))
		return NULL;
	if (attached && (o->kind == OPT_STR || o->kind == OPT_LIST) && !access(optarg, F_OK))
		return NULL;
	return word + 1;
}

/* Refuse a name with one dash that other programs write so, as -ngl, or that needs two, as -temp. */
static int refuse_cluster(const struct opt *rows, const char *word, infer_error *err)
{
	char name[OPT_NAME_MAX + 2] = "--";
	size_t n = strcspn(word, "=");

	if (n < 2 || n >= OPT_NAME_MAX)
		return INFER_OK;
	memcpy(name + 2, word, n);
	const char *other = opt_other(rows, name + 2, 0);

	if (opt_has(rows, name))
		return err_set(err, INFER_EINVAL, "unknown option -%s; did you mean %s?", name + 2,
		               name);
	if (!other)
		return INFER_OK;
	return err_set(err, INFER_EINVAL, "unknown option -%s; %s", name + 2, other);
}

int opt_parse(const struct opt *rows, void *into, int argc, char **argv, struct opt_rest *rest,
              infer_error *err)
{
	struct tables t;
	char name[OPT_NAME_MAX + 3];
	int key;

	fill_tables(&t, rows);
	opterr = 0;
	optind = 0; /* 0 restarts getopt, in glibc and musl */
	while ((key = getopt_long(argc, argv, t.short_opts, t.long_opts, NULL)) != -1) {
		const char *cluster = find_cluster(rows, argv, key);

		if (key == 'h' && is_hub(argv[optind]))
			return refuse_hub(rows, argv + optind, err);
		if (cluster)
			TRY(refuse_cluster(rows, cluster, err));
		if (key == '?' || key == ':')
			return refuse_option(rows, argv, key, err);
		const struct opt *o =
			key >= LONG ? &rows[key - LONG] : find_short_option(rows, key);
		const char *typed = key >= LONG ? typed_long(argv, key) : NULL;

		if (typed && strcspn(typed, "=") != strlen(o->name))
			return unknown_long(rows, typed, err);
		if (o->kind == OPT_HELP && !optarg && optind < argc && *argv[optind] != '-')
			optarg = argv[optind++];
		TRY(opt_value(o, into, optarg, opt_name(o, name), &rest->mem, err));
		rest->given[o - rows] = 1;
		TRY(record_add(rest, o, optarg, err));
		if (o->kind == OPT_LAST || o->kind == OPT_HELP)
			break;
	}
	rest->words = argv + (optind < argc ? optind : argc);
	rest->n_words = optind < argc ? argc - optind : 0;
	return INFER_OK;
}

void opt_rest_init(struct opt_rest *rest)
{
	*rest = (struct opt_rest){ 0 };
	arena_init(&rest->mem, MEM_BASE);
}

void opt_rest_fini(struct opt_rest *rest)
{
	arena_fini(&rest->mem);
	*rest = (struct opt_rest){ 0 };
}
