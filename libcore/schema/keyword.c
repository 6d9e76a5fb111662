/* schema/keyword.c - the table of keywords: search by name, check of their values. */
#include "schema/keyword.h"
#include "base/nearest.h"

#include <string.h>

#define KEYWORD(prefix, name, drafts, types, value, branches, verdict) \
	{ prefix #name, kw_##name##_apply, verdict, types, value, drafts, branches },
#define ANNOTATION(prefix, name, drafts, value) \
	{ prefix #name, kw_annotation_apply, NULL, 0, value, drafts, ONE_BRANCH },
#define UNSUPPORTED(prefix, name) ANNOTATION(prefix, name, 0, V_ANY)

static const struct keyword_row rows[] = {
#include "schema/keyword_list.h"
};

const struct keyword_row *keyword_find(const struct json *member)
{
	size_t lo = 0, hi = sizeof rows / sizeof *rows;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2, len = strlen(rows[mid].name);
		int cmp = memcmp(member->key, rows[mid].name,
		                 len < member->key_n ? len : member->key_n);

		if (!cmp)
			cmp = (member->key_n > len) - (member->key_n < len);
		if (!cmp)
			return rows + mid;
		if (cmp < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

/* Return the edits between two names, ignoring case. A result above 3 is a lower bound. */
static int count_edits(const char *a, size_t n, const char *b, size_t m)
{
	enum { MOST = 32 };
	char x[MOST + 1] = "", y[MOST + 1] = "";

	if (n > MOST || m > MOST || n > m + 3 || m > n + 3)
		return 4;
	for (size_t i = 0; i < n; i++)
		x[i] = (char)(a[i] | 32);
	for (size_t i = 0; i < m; i++)
		y[i] = (char)(b[i] | 32);
	return nearest_edits(x, y);
}

int keyword_is_named(const struct json *member, const char *name)
{
	return member->key_n == strlen(name) && !memcmp(member->key, name, member->key_n);
}

int keyword_is_extension(const struct json *member)
{
	return (member->key_n && *member->key == '_') ||
	       (member->key_n > 1 && !memcmp(member->key, "x-", 2));
}

const char *keyword_near(const struct json *member)
{
	/* names that do not resemble what they mean */
	static const char *const aliases[][2] = { { "inclusiveMaximum", "maximum" },
		                                  { "inclusiveMinimum", "minimum" } };
	const char *best = NULL;
	int least = 4;

	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (keyword_is_named(member, aliases[i][0]))
			return aliases[i][1];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct keyword_row *r = rows + i;
		const size_t n = strlen(r->name);
		const int most = n < 4 ? 0 : n < 8 ? 1 : n < 16 ? 2 : 3;
		int edits;

		/* some annotations are read by other keywords */
		if (!keyword_constrains(r) && r->value != V_SCHEMA && r->value != V_COUNT &&
		    r->value != V_SCHEMA_MAP)
			continue;
		edits = count_edits(member->key, member->key_n, r->name, n);
		if (edits <= most && edits < least) {
			best = r->name;
			least = edits;
		}
	}
	return best;
}

static int is_count(const struct json *v)
{
	const double d = json_double(v);

	return json_is_number(v) && d >= 0 &&
	       (json_is_whole(v) || d > 1e18 || d == (double)(int64_t)d);
}

unsigned keyword_type_bits(const struct json *name)
{
	static const struct {
		const char *name;
		unsigned bits;
	} names[] = { { "null", 1 << ALT_NULL }, { "boolean", 1 << ALT_FALSE | 1 << ALT_TRUE },
		      { "number", ON_NUMBER },   { "integer", ON_NUMBER },
		      { "string", ON_STRING },   { "array", ON_ARRAY },
		      { "object", ON_OBJECT } };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (json_equals(name, names[i].name))
			return names[i].bits;
	return 0;
}

unsigned keyword_value_bits(const struct json *v)
{
	if (json_is_null(v))
		return 1 << ALT_NULL;
	if (json_is_bool(v))
		return json_is(v, JSON_TRUE) ? 1 << ALT_TRUE : 1 << ALT_FALSE;
	return json_is_number(v)   ? ON_NUMBER
	       : json_is_string(v) ? ON_STRING
	       : json_is_array(v)  ? ON_ARRAY
	                           : ON_OBJECT;
}

int keyword_is_strings(const struct json *v)
{
	if (!json_is_array(v))
		return 0;
	json_each(e, v)
		if (!json_is_string(e))
			return 0;
	return 1;
}

const char *keyword_mistake(const struct json *v, enum keyword_value value)
{
	switch (value) {
	case V_COUNT:
		return is_count(v) ? NULL : "must be a whole number, at least 0";
	case V_NUMBER:
		return json_is_number(v) ? NULL : "must be a number";
	case V_POSITIVE:
		return json_is_number(v) && json_double(v) > 0 ? NULL
		                                               : "must be a number greater than 0";
	case V_STRING:
	case V_FORMAT:
	case V_REFERENCE:
		return json_is_string(v) ? NULL : "must be a string";
	case V_FALSE:
		return json_is(v, JSON_FALSE) ? NULL : "is not a keyword: add null to type instead";
	case V_BOOL:
		return json_is_bool(v) ? NULL : "must be true or false";
	case V_STRINGS:
		return keyword_is_strings(v) ? NULL : "must be an array of strings";
	case V_ARRAY:
		return json_is_array(v) ? NULL : "must be an array";
	case V_SCHEMAS:
		return json_is_array(v) && v->n ? NULL : "must be an array of schemas";
	case V_SCHEMA_MAP:
	case V_DEPENDENCIES:
		return json_is_object(v) ? NULL : "must be an object";
	case V_STRINGS_MAP:
		if (!json_is_object(v))
			return "must be an object";
		json_each(m, v)
			if (!keyword_is_strings(m))
				return "must be an object of arrays of strings";
		return NULL;
	case V_TYPE:
		if (json_is_array(v) && v->n) {
			json_each(e, v)
				if (!keyword_type_bits(e))
					return "is not a type";
			return NULL;
		}
		return keyword_type_bits(v) ? NULL : "is not a type";
	case V_ANY:
	case V_SCHEMA:
	case V_ITEMS:
	case V_ID:
	case V_EXCLUSIVE: /* depends on the draft: check.c */
		break;
	}
	return NULL;
}
