/* infer-run/constrain.c - options that constrain the answer. */
#include "constrain.h"
#include <infer/reply.h>
#include "common/file.h"
#include "common/say.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FILE_BYTES = 64 << 20 };

int constrain_calls(const struct constrain_args *a, const char **name)
{
	static const char *const words[] = { [INFER_CALLS_NONE] = "none",
		                             [INFER_CALLS_AUTO] = "auto",
		                             [INFER_CALLS_REQUIRED] = "required" };

	*name = a->tool_choice;
	if (!a->tool_choice)
		return INFER_CALLS_FREE;
	for (int i = INFER_CALLS_NONE; i <= INFER_CALLS_REQUIRED; i++)
		if (!strcmp(a->tool_choice, words[i]))
			return i;
	return INFER_CALLS_NAMED;
}

const char *constrain_given(const struct constrain_args *a)
{
	return a->json_schema   ? "--json-schema"
	       : a->grammar     ? "--grammar"
	       : a->regex       ? "--regex"
	       : a->choice.n    ? "--choice"
	       : a->json_object ? "--json-object"
	                        : NULL;
}

/* Read a schema, given as JSON or as a file, and write it to c->text on one line. */
static int read_schema(struct constrain *c, const char *s, infer_error *err)
{
	const size_t skip = strspn(s, " \t\r\n");
	const int is_text = s[skip] == '{' || !strcmp(s, "true") || !strcmp(s, "false");
	const struct json *v;
	struct buf file;
	struct arena mem;
	struct jwrite w;
	int rc = INFER_OK;

	buf_init(&file, MEM_BASE);
	arena_init(&mem, MEM_BASE);
	if (is_text)
		buf_puts(&file, s);
	else
		rc = file_read(&file, s, MAX_FILE_BYTES, err);
	if (!rc && file.bad)
		rc = err_set(err, INFER_ENOMEM, "out of memory for --json-schema");
	if (!rc)
		rc = jread(&v, &mem, file.at, file.len, is_text ? "--json-schema" : s, err);
	if (rc == INFER_EFORMAT)
		err->code = rc = INFER_EEMPTY;
	if (!rc) {
		jw_init(&w, &c->text);
		jw_value(&w, NULL, v);
	}
	buf_fini(&file);
	arena_fini(&mem);
	return rc;
}

/* Write the texts of --choice to c->text as a JSON array. */
static void write_choices(struct constrain *c, const struct opt_list *l)
{
	struct jwrite w;

	jw_init(&w, &c->text);
	jw_array(&w, NULL);
	for (int i = 0; i < l->n; i++)
		jw_str(&w, NULL, l->at[i]);
	jw_end(&w);
}

/* True if the argument of --grammar is a grammar, not a file: it has more than one line, a rule of GBNF, or it
 * begins with the rule `start` of Lark. */
static int is_grammar(const char *s)
{
	s += strspn(s, " \t");
	return strchr(s, '\n') || strstr(s, "::=") ||
	       (!strncmp(s, "start", 5) && s[5 + strspn(s + 5, " \t")] == ':');
}

/* Set the form and the text of the constraint. */
static int read_source(struct constrain *c, const struct constrain_args *a, infer_error *err)
{
	if (a->json_schema) {
		c->source.form = INFER_GRAMMAR_SCHEMA;
		return read_schema(c, a->json_schema, err);
	}
	if (a->grammar) {
		c->source.form = INFER_GRAMMAR_RULES;
		if (is_grammar(a->grammar)) {
			buf_puts(&c->text, a->grammar);
			return INFER_OK;
		}
		return file_read(&c->text, a->grammar, MAX_FILE_BYTES, err);
	}
	c->source.form = a->regex      ? INFER_GRAMMAR_REGEX
	                 : a->choice.n ? INFER_GRAMMAR_CHOICE
	                               : INFER_GRAMMAR_OBJECT;
	if (a->regex)
		buf_puts(&c->text, a->regex);
	else if (a->choice.n)
		write_choices(c, &a->choice);
	return INFER_OK;
}

int constrain_take(struct constrain *out, const struct constrain_args *a, infer_error *err)
{
	const char *given = constrain_given(a), *ignored, *note;
	infer_error why = { 0 };
	int rc;

	*out = (struct constrain){
		.source = { .flags = (a->lax_schema ? INFER_GRAMMAR_LAX : 0u) |
		                     (a->format_annotation ? INFER_GRAMMAR_ANNOTATE : 0u) |
		                     (a->strict_formats ? INFER_GRAMMAR_STRICT_FORMATS : 0u),
		            .budget = (uint64_t)a->budget },
	};
	buf_init(&out->text, MEM_BASE);
	if (!given)
		return INFER_OK;
	TRY(read_source(out, a, err));
	if (out->text.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for %s", given);
	out->source.text = (struct infer_str){ out->text.at ? out->text.at : "", out->text.len };
	rc = infer_grammar_compile(&out->grammar, &out->source, NULL, &why);
	if (rc)
		return err_set(err, rc, "%s: %s", given, why.message);
	for (size_t i = 0; (ignored = infer_grammar_ignored(out->grammar, i)); i++)
		say_warning("--json-schema: %s is ignored", ignored);
	for (size_t i = 0; (note = infer_grammar_annotation(out->grammar, i)); i++)
		say_note(1, "%s: %s is an annotation", given, note);
	return INFER_OK;
}

void constrain_fini(struct constrain *c)
{
	infer_grammar_free(c->grammar);
	buf_fini(&c->text);
	*c = (struct constrain){ 0 };
}
