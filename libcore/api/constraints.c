/* api/constraints.c - the fields that constrain an answer, read and written */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"
#include "base/jread.h"
#include "grammar/shared.h"

#include <string.h>

/* ---- reading ---- */

static int set_constraint(struct job *j, const char *key, int form, infer_error *err)
{
	if (j->constraint_key && strcmp(j->constraint_key, key) != 0)
		return err_set(err, INFER_EINVAL, "%s and %s exclude each other", j->constraint_key,
		               key);
	j->constraint_key = key;
	j->constraint.form = form;
	return INFER_OK;
}

/* Set the text of the constraint to the value as JSON, in the memory of the job. */
static int keep_json(struct job *j, const struct json *v, infer_error *err)
{
	struct json alone = *v;
	struct jwrite w;
	struct buf text;
	char *at;

	alone.key = NULL;
	alone.next = NULL;
	buf_init(&text, MEM_JOB);
	jw_init(&w, &text);
	jw_value(&w, NULL, &alone);
	at = text.bad ? NULL : arena_strndup(&j->mem, text.at, text.len);
	j->constraint.text = (struct infer_str){ at, text.len };
	buf_fini(&text);
	return at ? INFER_OK : err_nomem(err);
}

static int take_value(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(set_constraint(j, key, INFER_GRAMMAR_SCHEMA, err));
	if (!json_is_object(v) && !json_is_bool(v))
		return err_set(err, INFER_EINVAL, "%s must be a schema: an object, true or false",
		               key);
	return keep_json(j, v, err);
}

static int take_grammar_text(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(set_constraint(j, key, strcmp(key, "regex") ? INFER_GRAMMAR_RULES : INFER_GRAMMAR_REGEX,
	                   err));
	if (!json_is_string(v))
		return err_set(err, INFER_EINVAL, "%s must be a string", key);
	j->constraint.text = (struct infer_str){ json_str(v), v->n };
	return INFER_OK;
}

static int take_texts_choice(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(set_constraint(j, key, INFER_GRAMMAR_CHOICE, err));
	if (!json_is_array(v) || !v->n)
		return err_set(err, INFER_EINVAL, "%s must be a list of strings", key);
	json_each(text, v)
		if (!json_is_string(text))
			return err_set(err, INFER_EINVAL, "%s: every entry must be a string", key);
	return keep_json(j, v, err);
}

static int take_object(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int on;

	TRY(job_take_bool(&on, key, v, err));
	return on ? set_constraint(j, key, INFER_GRAMMAR_OBJECT, err) : INFER_OK;
}

/* Read {name, schema, strict, description}.  The schema is enforced in any case; strict also
 * enforces the order of its properties. */
static int take_named(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *strict = json_get(v, "strict"), *schema = json_get(v, "schema");

	if (!json_is_object(v) || !schema || json_is_null(schema))
		return err_set(err, INFER_EINVAL, "%s: json_schema has no schema", key);
	if (json_get(v, "name") && !job_is_name(json_get(v, "name")))
		return err_set(
			err, INFER_EINVAL,
			"%s: the name of json_schema must be 1 to 64 letters, digits, _ or -", key);
	if (strict && !json_is_null(strict) && !json_is_bool(strict))
		return err_set(err, INFER_EINVAL, "%s: strict must be true or false", key);
	TRY(take_value(j, key, schema, err));
	if (json_is(strict, JSON_TRUE))
		j->constraint.flags |= INFER_GRAMMAR_ORDERED;
	return INFER_OK;
}

int job_take_format(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *type = json_get(v, "type"), *schema = json_get(v, "schema");

	if (!json_is_object(v) || !json_is_string(type))
		return err_set(err, INFER_EINVAL, "%s has no type", key);
	if (json_equals(type, "json_schema"))
		return take_named(j, key, json_get(v, "json_schema"), err);
	if (json_equals(type, "json_object"))
		return schema && !json_is_null(schema)
		               ? take_value(j, key, schema, err)
		               : set_constraint(j, key, INFER_GRAMMAR_OBJECT, err);
	if (!json_equals(type, "text"))
		return err_set(err, INFER_EINVAL,
		               "%s: the type must be text, json_object or json_schema", key);
	j->is_free = 1;
	return INFER_OK;
}

/* Read a schema: a JSON value, or a string with JSON in it. */
int job_take_schema(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *read;

	if (!json_is_string(v))
		return take_value(j, key, v, err);
	TRY(jread(&read, &j->mem, v->s, v->n, key, err));
	return take_value(j, key, read, err);
}

static int take_rules(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(set_constraint(j, key, INFER_GRAMMAR_RULES, err));
	if (!json_is_string(v))
		return err_set(err, INFER_EINVAL, "%s must be a string", key);
	j->constraint.text = (struct infer_str){ json_str(v), v->n };
	return INFER_OK;
}

static int take_regex(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(take_rules(j, key, v, err));
	j->constraint.form = INFER_GRAMMAR_REGEX;
	return INFER_OK;
}

/* Read vLLM's object: exactly one of its members is the constraint. */
static int take_structured(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	static const struct job_field kinds[] = {
		{ "json", job_take_schema },     { "regex", take_regex },
		{ "choice", take_texts_choice }, { "grammar", take_rules },
		{ "json_object", take_object },  { NULL, NULL },
	};
	int n = 0;

	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s must be an object", key);
	for (const struct job_field *k = kinds; k->key; k++) {
		const struct json *one = json_get(v, k->key);

		if (!one || json_is_null(one))
			continue;
		if (n++)
			return err_set(err, INFER_EINVAL, "%s has more than one constraint", key);
		TRY(k->take(j, key, one, err));
	}
	if (n)
		return INFER_OK;
	return err_set(err, INFER_EUNSUP,
	               "%s must have json, regex, choice, grammar or json_object", key);
}

static uint32_t flag_of(const char *key)
{
	return !strcmp(key, "lax_schema")       ? INFER_GRAMMAR_LAX
	       : !strcmp(key, "schema_order")   ? INFER_GRAMMAR_ORDERED
	       : !strcmp(key, "strict_formats") ? INFER_GRAMMAR_STRICT_FORMATS
	                                        : INFER_GRAMMAR_ANNOTATE;
}

static int take_flag(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const uint32_t flag = flag_of(key);
	int on;

	TRY(job_take_bool(&on, key, v, err));
	j->constraint.flags &= ~flag;
	j->constraint.flags |= on ? flag : 0;
	return INFER_OK;
}

static int take_budget(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is(v, JSON_INT) || v->i < 1)
		return err_set(err, INFER_EINVAL, "%s is not a whole number above 0", key);
	j->constraint.budget = v->u;
	return INFER_OK;
}

/* ---- writing ---- */

/* Write JSON on one line, without white space outside strings. */
static void put_small(struct jwrite *w, const char *key, struct infer_str json)
{
	int in_string = 0;
	struct buf text;

	buf_init(&text, MEM_JOB);
	for (size_t i = 0; i < json.len; i++) {
		const char c = json.at[i];

		if (in_string && c == '\\' && i + 1 < json.len) {
			buf_put(&text, json.at + i++, 2);
			continue;
		}
		in_string ^= c == '"';
		if (in_string || (c != ' ' && c != '\n' && c != '\r' && c != '\t'))
			buf_putc(&text, c);
	}
	if (text.bad)
		w->to->bad = 1;
	else
		jw_raw(w, key, text.at, text.len);
	buf_fini(&text);
}

static void put_source(struct jwrite *w, const char *key, const struct job_asked *a)
{
	const struct infer_grammar_source *s = a->j->constraint;

	if (!s || !a->j->request.grammar || strcmp(key, grammar_kind(s->form)) != 0)
		return;
	if (s->form == INFER_GRAMMAR_OBJECT)
		jw_bool(w, key, 1);
	else if (s->form == INFER_GRAMMAR_RULES || s->form == INFER_GRAMMAR_REGEX)
		jw_strn(w, key, s->text.at, s->text.len);
	else
		put_small(w, key, s->text);
}

static void put_flag(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->constraint && a->j->constraint->flags & flag_of(key))
		jw_bool(w, key, 1);
}

static void put_budget(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->constraint && a->j->constraint->budget)
		jw_uint(w, key, a->j->constraint->budget);
}

const struct job_field job_constraints[] = {
	{ "json_schema", take_value, put_source },
	{ "json_object", take_object, put_source },
	{ "grammar", take_grammar_text, put_source },
	{ "regex", take_grammar_text, put_source },
	{ "choice", take_texts_choice, put_source },
	{ "response_format", job_take_format, job_put_nothing },
	{ "structured_outputs", take_structured, job_put_nothing },
	{ "guided_json", job_take_schema, job_put_nothing },
	{ "guided_regex", take_regex, job_put_nothing },
	{ "guided_choice", take_texts_choice, job_put_nothing },
	{ "guided_grammar", take_rules, job_put_nothing },
	{ "ebnf", take_rules, job_put_nothing },
	{ "schema_order", take_flag, put_flag },
	{ "lax_schema", take_flag, put_flag },
	{ "format_annotation", take_flag, put_flag },
	{ "strict_formats", take_flag, put_flag },
	{ "constraint_budget", take_budget, put_budget },
	{ NULL, NULL, NULL },
};

void part_constraint(struct jwrite *w, const infer_job *j)
{
	const infer_grammar *g = j->request.grammar;
	const char *ignored;

	if (!g)
		return;
	jw_object(w, "constraint");
	jw_str(w, "form", infer_grammar_kind(g));
	jw_str(w, "sha256", infer_grammar_sha256(g));
	if (infer_grammar_ignored(g, 0)) {
		jw_array(w, "ignored");
		for (size_t i = 0; (ignored = infer_grammar_ignored(g, i)); i++)
			jw_str(w, NULL, ignored);
		jw_end(w);
	}
	jw_end(w);
}
