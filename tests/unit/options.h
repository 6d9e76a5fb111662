/* tests/unit/options.h - every relation in a program's table of options is enforced.
 *
 * Options are parsed from arguments as a user would type them, each with some valid value. */
#ifndef TESTS_OPTIONS_H
#define TESTS_OPTIONS_H
#include "nth.h"
#include "common/opt.h"

#include <stdio.h>
#include <string.h>

enum { OPTIONS_BYTES = 4096, OPTIONS_WORDS = 16 };
struct options {
	struct opt rows[OPT_ROWS_MAX];
	struct opt_modes modes;
	_Alignas(16) unsigned char values[OPTIONS_BYTES]; /* the program's options */
	char text[OPTIONS_WORDS][128], *argv[OPTIONS_WORDS + 1];
	int argc;
	infer_error err;
};

static inline void options_begin(struct options *t)
{
	t->argc = 1;
	memcpy(t->text[0], "test", 5);
	t->argv[0] = t->text[0];
}

/* Add an option with its word, or with a value that every row of its kind accepts. */
static inline void options_add(struct options *t, const struct opt *o, const char *word, size_t n)
{
	char *to = t->text[t->argc], name[OPT_NAME_MAX + 3];
	const char *pick = o->arg ? o->arg + (*o->arg == '[' ? 2 : 0) : "";

	assert_in_range(t->argc, 1, OPTIONS_WORDS - 1);
	opt_name(o, name);
	if (!o->arg)
		snprintf(to, sizeof *t->text, "%s", name);
	else if (word)
		snprintf(to, sizeof *t->text, "%s=%.*s", name, (int)n, word);
	else if (o->kind == OPT_PICK)
		snprintf(to, sizeof *t->text, "%s=%.*s", name, (int)strcspn(pick, "|]"), pick);
	else if (o->kind == OPT_STR || o->kind == OPT_LIST)
		snprintf(to, sizeof *t->text, "%s=x", name);
	else
		snprintf(to, sizeof *t->text, o->hi >= 1 ? "%s=%.0f" : "%s=%g", name,
		         o->kind == OPT_BITS ? 1 : o->hi);
	t->argv[t->argc++] = to;
	t->argv[t->argc] = NULL;
}

/* Find the row of a term in a list of `with` or `without`, and its word. Returns NULL if there is none. */
static inline const struct opt *options_term(const struct options *t, const char *list,
                                             char word[32])
{
	size_t name = strcspn(list, " ="), n = strcspn(list, " ");

	snprintf(word, 32, "%.*s", (int)(n > name ? n - name - 1 : 0), list + name + (n > name));
	for (const struct opt *o = t->rows; o->kind != OPT_END; o++)
		if (o->kind != OPT_GROUP && (name == 1 ? o->key == *list
		                                       : o->name && strlen(o->name) == name &&
		                                                 !memcmp(o->name, list, name)))
			return o;
	return NULL;
}

/* Add the term number i of a list. Returns 0 if the list has fewer, or if the term is `except`. */
static inline int options_add_term(struct options *t, const char *list, int i,
                                   const struct opt *except)
{
	const struct opt *o;
	char word[32];

	for (; list && i > 0; i--)
		list = strchr(list, ' ') ? strchr(list, ' ') + 1 : NULL;
	if (!list || (o = options_term(t, list, word)) == except)
		return 0;
	options_add(t, o, *word ? word : NULL, strlen(word));
	return 1;
}

static inline int options_terms(const char *list)
{
	int n = list && *list;

	for (; list && *list; list++)
		n += *list == ' ';
	return n;
}

/* Add an option and what it needs: the first option of `with`, and what that needs. */
static inline void options_add_needed(struct options *t, const struct opt *o)
{
	char word[32];

	options_add(t, o, NULL, 0);
	while (o->with) {
		o = options_term(t, o->with, word);
		options_add(t, o, *word ? word : NULL, strlen(word));
	}
}

static inline int options_check(struct options *t)
{
	struct opt_rest rest;

	opt_rest_init(&rest);
	t->err = (infer_error){ 0 };
	memset(t->values, 0,
	       sizeof t->values); /* lists of the last call are freed with its `rest` */
	if (opt_parse(t->rows, t->values, t->argc, t->argv, &rest, &t->err))
		fail_msg("%s", t->err.message);
	int rc = opt_check(t->rows, t->values, &rest, &t->modes, &t->err);

	opt_rest_fini(&rest);
	return rc;
}

/* The option must be refused, by its name, with what was added. */
static inline void options_refused(struct options *t, const struct opt *o, const char *why)
{
	char name[OPT_NAME_MAX + 3];

	opt_name(o, name);
	if (options_check(t) != INFER_EINVAL)
		fail_msg("%s is accepted %s %s", name, why, t->argv[t->argc - 1]);
	if (!strstr(t->err.message, name))
		fail_msg("'%s' does not name %s", t->err.message, name);
}

/* Try an option with every mode: sub-commands, or options that select a mode. */
static inline void options_try_modes(struct options *t, const struct opt *o)
{
	unsigned allowed = o->modes | o->selects ? o->modes | o->selects : ~0u;
	const struct opt_modes modes = t->modes;

	for (int bit = 0; modes.names && modes.names[bit]; bit++) {
		t->modes.active = 1u << bit;
		options_begin(t);
		options_add(t, o, NULL, 0);
		if (~allowed & 1u << bit)
			options_refused(t, o, modes.names[bit]);
		else if (!o->with && options_check(t))
			fail_msg("%s: %s", modes.names[bit], t->err.message);
	}
	t->modes = modes;
	for (const struct opt *m = t->rows; m->kind != OPT_END; m++) {
		options_begin(t);
		options_add(t, o, NULL, 0);
		options_add(t, m, NULL, 0);
		if (m->selects & ~allowed)
			options_refused(t, o, "with");
	}
}

static inline void options_try(struct options *t, const struct opt *o)
{
	char name[OPT_NAME_MAX + 3];

	opt_name(o, name);
	options_try_modes(t, o);
	if (o->with) {
		options_begin(t);
		options_add(t, o, NULL, 0);
		options_refused(t, o, "without all of its list with");
	}
	for (int i = 0; i < options_terms(o->with); i++) {
		options_begin(t);
		options_add(t, o, NULL, 0);
		options_add_term(t, o->with, i, NULL);
		if (options_check(t) && !strncmp(t->err.message, name, strlen(name)) &&
		    strstr(t->err.message, "goes with"))
			fail_msg("%s", t->err.message);
	}
	for (int i = 0; i < options_terms(o->without); i++) {
		options_begin(t);
		options_add_needed(t, o);
		if (options_add_term(t, o->without, i, o))
			options_refused(t, o, "with");
	}
}

/* True if `word` is a value of the option: "a|b" or "[=a|b]". */
static inline int options_has_value(const struct opt *o, const char *word)
{
	if (o->kind != OPT_PICK)
		return 0;
	for (const char *at = o->arg + (*o->arg == '[' ? 2 : 0);; at++) {
		size_t n = strcspn(at, "|]");

		if (n == strlen(word) && !memcmp(at, word, n))
			return 1;
		at += n;
		if (*at != '|')
			return 0;
	}
}

/* Every term of a list must be an option of the table, and its word one of the option's values. */
static inline void options_check_list(const struct options *t, const char *of, const char *field,
                                      const char *list)
{
	for (size_t n; list && *list; list += n + (list[n] == ' ')) {
		char word[32];
		const struct opt *o = options_term(t, list, word);

		n = strcspn(list, " ");
		if (!o)
			fail_msg("%s: .%s names the option '%.*s', which no row has", of, field,
			         (int)n, list);
		if (*word && !options_has_value(o, word))
			fail_msg("%s: .%s has '%.*s', which is not a value of that option", of,
			         field, (int)n, list);
	}
}

/* True if a list has an option of this name. */
static inline int options_list_has(const char *list, const char *name, size_t len)
{
	for (size_t n; list && *list; list += n + (list[n] == ' ')) {
		n = strcspn(list, " ");
		if (strcspn(list, " =") == len && !memcmp(list, name, len))
			return 1;
	}
	return 0;
}

/* Check the lists of a row by name, before opt_check() uses them. Help that begins with "with --x:"
 * needs x in `.with`. */
static inline void options_check_names(const struct options *t, const struct opt *o)
{
	char name[OPT_NAME_MAX + 3];

	opt_name(o, name);
	options_check_list(t, name, "with", o->with);
	options_check_list(t, name, "without", o->without);
	if (!o->help || strncmp(o->help, "with --", 7) != 0)
		return;
	size_t n = strcspn(o->help + 7, ": ");

	if (!options_list_has(o->with, o->help + 7, n))
		fail_msg("%s: its help begins with 'with --%.*s', but .with does not have it", name,
		         (int)n, o->help + 7);
}

/* Check every row of a table: its modes, with and without. names: sub-commands, or NULL. */
static inline void options_check_rows(const struct opt *table, const char *const *names)
{
	static struct options t;
	int n = 0;

	opt_rows(t.rows, table);
	t.modes = (struct opt_modes){ 1, names };
	for (const struct opt *o = t.rows; o->kind != OPT_END; o++)
		if (o->kind != OPT_GROUP)
			options_check_names(&t, o);
	for (const struct opt *o = t.rows; o->kind != OPT_END; o++) {
		assert_in_range(o->at, 0, OPTIONS_BYTES - sizeof(struct opt_list));
		if (o->kind == OPT_GROUP || o->kind == OPT_LAST || o->kind == OPT_HELP)
			continue;
		memset(t.values, 0, sizeof t.values);
		options_try(&t, o);
		n += o->modes || o->selects || o->with || o->without;
	}
	assert_true(n > 0);
}
#endif
