/* common/opt_check.c - check that options go together: fields modes, with and without of the rows. */
#include "common/opt.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* An option or one of its words, as in the lists `with` and `without`. */
struct term {
	const struct opt *row;
	const char *word; /* word of "name=word"; NULL: any value */
	size_t word_len;
};

/* Read the next term of a list and advance *list. Returns 0 at the end of the list. */
static int next_term(struct term *t, const struct opt *rows, const char **list)
{
	size_t n = strcspn(*list, " "), name = strcspn(*list, " =");

	if (!n)
		return 0;
	for (t->row = rows; t->row->kind != OPT_END; t->row++)
		if (t->row->kind != OPT_GROUP &&
		    (name == 1 ? t->row->key == **list
		               : t->row->name && strlen(t->row->name) == name &&
		                         !memcmp(t->row->name, *list, name)))
			break;
	must(t->row->kind != OPT_END);
	t->word = name < n ? *list + name + 1 : NULL;
	t->word_len = name < n ? n - name - 1 : 0;
	*list += n + ((*list)[n] == ' ');
	return 1;
}

/* Return the index of the term's word in "a|b" or "[=a|b]". */
static int word_index(const struct term *t)
{
	const char *p = t->row->arg + (*t->row->arg == '[' ? 2 : 0);

	must(t->row->kind == OPT_PICK);
	for (int i = 0;; i++) {
		size_t n = strcspn(p, "|]");

		if (n == t->word_len && !memcmp(p, t->word, n))
			return i;
		must(p[n] == '|');
		p += n + 1;
	}
}

/* True if the options given include the term. Another option may set the word: --json is -o jsonl. */
static int term_given(const struct term *t, const struct opt *rows, const void *values,
                      const struct opt_rest *rest)
{
	if (!t->word)
		return rest->given[t->row - rows];
	for (const struct opt *o = rows; o->kind != OPT_END; o++)
		if (o->kind != OPT_GROUP && o->at == t->row->at && rest->given[o - rows])
			return *(const int *)((const char *)values + o->at) == word_index(t);
	return 0;
}

/* Append the term as the user types it: "--tools" or "-o jsonl". */
static void put_term(struct buf *to, const struct term *t)
{
	char name[OPT_NAME_MAX + 3];

	if (t->word && t->row->key)
		buf_printf(to, "-%c", t->row->key);
	else
		buf_puts(to, opt_name(t->row, name));
	if (t->word)
		buf_printf(to, " %.*s", (int)t->word_len, t->word);
}

/* Return the separator before item i of n: "a, b and c". */
static const char *list_separator(int i, int n, const char *last)
{
	return i == 0 ? "" : i < n - 1 ? ", " : last;
}

static int out_of_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for options");
}

/* Set the error for an option of other sub-commands: "--url goes with serve only". */
static int refuse_subcommand(const struct opt *o, const struct opt_modes *m, infer_error *err)
{
	char name[OPT_NAME_MAX + 3];
	int n = __builtin_popcount(o->modes), i = 0;
	struct buf list;

	buf_init(&list, MEM_BASE);
	for (int bit = 0; m->names[bit]; bit++)
		if (o->modes >> bit & 1)
			buf_printf(&list, "%s%s", list_separator(i++, n, " and "), m->names[bit]);
	int rc = list.bad ? out_of_memory(err)
	                  : err_set(err, INFER_EINVAL, "%s goes with %s only", opt_name(o, name),
	                            list.at);

	buf_fini(&list);
	return rc;
}

/* Return the first option given that selects a mode outside `allowed`, or NULL. */
static const struct opt *find_selector(const struct opt *rows, const struct opt_rest *rest,
                                       unsigned allowed)
{
	for (const struct opt *o = rows; o->kind != OPT_END; o++)
		if (rest->given[o - rows] && o->selects & ~allowed)
			return o;
	return NULL;
}

static int check_modes(const struct opt *o, const struct opt *rows, const struct opt_rest *rest,
                       const struct opt_modes *m, infer_error *err)
{
	unsigned allowed = o->modes || o->selects ? o->modes | o->selects : ~0u;
	const struct opt *other = find_selector(rows, rest, allowed);
	char name[OPT_NAME_MAX + 3], other_name[OPT_NAME_MAX + 3];

	if (m->names)
		return m->active & ~allowed ? refuse_subcommand(o, m, err) : INFER_OK;
	if (!other)
		return INFER_OK;
	return err_set(err, INFER_EINVAL,
	               o->selects ? "%s and %s exclude each other" : "%s does not go with %s",
	               opt_name(o, name), opt_name(other, other_name));
}

static int check_with(const struct opt *o, const struct opt *rows, const void *values,
                      const struct opt_rest *rest, infer_error *err)
{
	char name[OPT_NAME_MAX + 3];
	const char *list = o->with;
	struct term t;
	struct buf all;
	int n = 0;

	if (!list)
		return INFER_OK;
	for (; next_term(&t, rows, &list); n++)
		if (term_given(&t, rows, values, rest))
			return INFER_OK;
	buf_init(&all, MEM_BASE);
	list = o->with;
	for (int i = 0; next_term(&t, rows, &list); i++) {
		buf_puts(&all, list_separator(i, n, " or "));
		put_term(&all, &t);
	}
	int rc = all.bad ? out_of_memory(err)
	                 : err_set(err, INFER_EINVAL, "%s goes with %s only", opt_name(o, name),
	                           all.at);

	buf_fini(&all);
	return rc;
}

static int check_without(const struct opt *o, const struct opt *rows, const void *values,
                         const struct opt_rest *rest, infer_error *err)
{
	char name[OPT_NAME_MAX + 3];
	const char *list = o->without ? o->without : "";
	struct term t;
	struct buf other;

	do {
		if (!next_term(&t, rows, &list))
			return INFER_OK;
	} while (t.row == o || !term_given(&t, rows, values, rest));
	buf_init(&other, MEM_BASE);
	put_term(&other, &t);
	int rc = other.bad ? out_of_memory(err)
	                   : err_set(err, INFER_EINVAL, "%s does not go with %s", other.at,
	                             opt_name(o, name));

	buf_fini(&other);
	return rc;
}

int opt_check(const struct opt *rows, const void *values, const struct opt_rest *rest,
              const struct opt_modes *m, infer_error *err)
{
	/* report two selected modes first: other conflicts follow from that */
	for (const struct opt *o = rows; o->kind != OPT_END; o++)
		if (rest->given[o - rows] && o->selects)
			TRY(check_modes(o, rows, rest, m, err));
	for (const struct opt *o = rows; o->kind != OPT_END; o++) {
		if (!rest->given[o - rows])
			continue;
		TRY(check_modes(o, rows, rest, m, err));
		TRY(check_with(o, rows, values, rest, err));
		TRY(check_without(o, rows, values, rest, err));
	}
	return INFER_OK;
}

const struct opt *opt_without_mark(const struct opt *rows, const struct opt_rest *rest,
                                   unsigned mark)
{
	for (const struct opt *o = rows; o->kind != OPT_END; o++)
		if (rest->given[o - rows] && !(o->marks & mark))
			return o;
	return NULL;
}
