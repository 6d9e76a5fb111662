/* schema/keyword.c - the keywords of JSON Schema: a row for each. */
#include "schema/keyword.h"

#include <string.h>

static const struct keyword_row rows[] = {
	{ "$anchor", KW_REMARK, 0, H_TEXT, FROM_2019 },
	{ "$comment", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "$defs", KW_REMARK, 0, H_MAP, IN_ALL },
	{ "$dynamicAnchor", KW_REMARK, 0, H_TEXT, IN_2020 },
	{ "$dynamicRef", KW_DYNAMIC_REF, ON_ALL, H_TEXT, IN_2020 },
	{ "$id", KW_REMARK, 0, H_TEXT, IN_ALL },
	{ "$recursiveAnchor", KW_REMARK, 0, H_BOOL, IN_2019 },
	{ "$recursiveRef", KW_DYNAMIC_REF, ON_ALL, H_TEXT, IN_2019 },
	{ "$ref", KW_REF, ON_ALL, H_TEXT, IN_ALL },
	{ "$schema", KW_REMARK, 0, H_TEXT, IN_ALL },
	{ "$vocabulary", KW_REMARK, 0, H_ANY, FROM_2019 },
	{ "additionalItems", KW_ADDITIONAL_ITEMS, ON_ARRAY, H_SCHEMA, TO_2019 },
	{ "additionalProperties", KW_ADDITIONAL_PROPERTIES, ON_OBJECT, H_SCHEMA, IN_ALL },
	{ "allOf", KW_ALL_OF, ON_ALL, H_SCHEMAS, IN_ALL },
	{ "allRequired", KW_REMARK, 0, H_ANY, 0 },
	{ "allowComments", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "allowTrailingCommas", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "anyOf", KW_ANY_OF, ON_ALL, H_SCHEMAS, IN_ALL },
	{ "anyRequired", KW_REMARK, 0, H_ANY, 0 },
	{ "author", KW_REMARK, 0, H_TEXT, IN_ALL },
	{ "base", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "components", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "const", KW_CONST, ON_ALL, H_ANY, FROM_6 },
	{ "contains", KW_CONTAINS, ON_ARRAY, H_SCHEMA, FROM_6 },
	{ "contentEncoding", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "contentMediaType", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "contentSchema", KW_REMARK, 0, H_SCHEMA, FROM_2019 },
	{ "deepProperties", KW_REMARK, 0, H_ANY, 0 },
	{ "deepRequired", KW_REMARK, 0, H_ANY, 0 },
	{ "default", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "defaultSnippets", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "definitions", KW_REMARK, 0, H_MAP, IN_ALL },
	{ "dependencies", KW_DEPENDENCIES, ON_OBJECT, H_DEPENDS, IN_ALL },
	{ "dependentExcluded", KW_REMARK, 0, H_ANY, 0 },
	{ "dependentRequired", KW_DEPENDENT_REQUIRED, ON_OBJECT, H_TEXTS_MAP, FROM_2019 },
	{ "dependentSchemas", KW_DEPENDENT_SCHEMAS, ON_OBJECT, H_MAP, FROM_2019 },
	{ "deprecated", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "deprecationMessage", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "description", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "disallow", KW_REMARK, 0, H_ANY, 0 },
	{ "discriminator", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "divisibleBy", KW_REMARK, 0, H_ANY, 0 },
	{ "doNotSuggest", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "else", KW_REMARK, 0, H_SCHEMA, FROM_7 },
	{ "enum", KW_ENUM, ON_ALL, H_LIST, IN_ALL },
	{ "enumDescriptions", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "enumNames", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "errorMessage", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "example", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "examples", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "exclusiveMaximum", KW_EXCLUSIVE_MAXIMUM, ON_NUMBER, H_EXCLUSIVE, IN_ALL },
	{ "exclusiveMinimum", KW_EXCLUSIVE_MINIMUM, ON_NUMBER, H_EXCLUSIVE, IN_ALL },
	{ "exclusiveRange", KW_REMARK, 0, H_ANY, 0 },
	{ "extends", KW_REMARK, 0, H_ANY, 0 },
	{ "externalDocs", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "format", KW_FORMAT, ON_STRING, H_TEXT, IN_ALL },
	{ "formatExclusiveMaximum", KW_REMARK, 0, H_ANY, 0 },
	{ "formatExclusiveMinimum", KW_REMARK, 0, H_ANY, 0 },
	{ "formatMaximum", KW_REMARK, 0, H_ANY, 0 },
	{ "formatMinimum", KW_REMARK, 0, H_ANY, 0 },
	{ "id", KW_REMARK, 0, H_TEXT, IN_ALL },
	{ "if", KW_IF, ON_ALL, H_SCHEMA, FROM_7 },
	{ "instanceof", KW_REMARK, 0, H_ANY, 0 },
	{ "items", KW_ITEMS, ON_ARRAY, H_ITEMS, IN_ALL },
	{ "javaType", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "links", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "markdownDescription", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "markdownEnumDescriptions", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "maxContains", KW_REMARK, 0, H_COUNT, FROM_2019 },
	{ "maxItems", KW_MAX_ITEMS, ON_ARRAY, H_COUNT, IN_ALL },
	{ "maxLength", KW_MAX_LENGTH, ON_STRING, H_COUNT, IN_ALL },
	{ "maxProperties", KW_MAX_PROPERTIES, ON_OBJECT, H_COUNT, IN_ALL },
	{ "maximum", KW_MAXIMUM, ON_NUMBER, H_NUMBER, IN_ALL },
	{ "minContains", KW_REMARK, 0, H_COUNT, FROM_2019 },
	{ "minItems", KW_MIN_ITEMS, ON_ARRAY, H_COUNT, IN_ALL },
	{ "minLength", KW_MIN_LENGTH, ON_STRING, H_COUNT, IN_ALL },
	{ "minProperties", KW_MIN_PROPERTIES, ON_OBJECT, H_COUNT, IN_ALL },
	{ "minimum", KW_MINIMUM, ON_NUMBER, H_NUMBER, IN_ALL },
	{ "multipleOf", KW_MULTIPLE_OF, ON_NUMBER, H_POSITIVE, IN_ALL },
	{ "not", KW_NOT, ON_ALL, H_SCHEMA, IN_ALL },
	{ "nullable", KW_REMARK, 0, H_FALSE, IN_ALL },
	{ "oneOf", KW_ONE_OF, ON_ALL, H_SCHEMAS, IN_ALL },
	{ "oneRequired", KW_REMARK, 0, H_ANY, 0 },
	{ "pattern", KW_PATTERN, ON_STRING, H_TEXT, IN_ALL },
	{ "patternErrorMessage", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "patternProperties", KW_PATTERN_PROPERTIES, ON_OBJECT, H_MAP, IN_ALL },
	{ "patternRequired", KW_REMARK, 0, H_ANY, 0 },
	{ "prefixItems", KW_PREFIX_ITEMS, ON_ARRAY, H_SCHEMAS, IN_2020 },
	{ "prohibited", KW_REMARK, 0, H_ANY, 0 },
	{ "properties", KW_PROPERTIES, ON_OBJECT, H_MAP, IN_ALL },
	{ "propertyNames", KW_PROPERTY_NAMES, ON_OBJECT, H_SCHEMA, FROM_6 },
	{ "propertyOrder", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "range", KW_REMARK, 0, H_ANY, 0 },
	{ "readOnly", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "regexp", KW_REMARK, 0, H_ANY, 0 },
	{ "required", KW_REQUIRED, ON_OBJECT, H_TEXTS, IN_ALL },
	{ "requiredOr", KW_REMARK, 0, H_ANY, 0 },
	{ "requiredXor", KW_REMARK, 0, H_ANY, 0 },
	{ "selectCases", KW_REMARK, 0, H_ANY, 0 },
	{ "self", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "suggestSortText", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "then", KW_REMARK, 0, H_SCHEMA, FROM_7 },
	{ "title", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "tsEnumNames", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "tsType", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "type", KW_TYPE, ON_ALL, H_TYPE, IN_ALL },
	{ "typeof", KW_REMARK, 0, H_ANY, 0 },
	{ "unevaluatedItems", KW_UNEVALUATED_ITEMS, ON_ARRAY, H_SCHEMA, FROM_2019 },
	{ "unevaluatedProperties", KW_UNEVALUATED_PROPERTIES, ON_OBJECT, H_SCHEMA, FROM_2019 },
	{ "uniqueItemProperties", KW_REMARK, 0, H_ANY, 0 },
	{ "uniqueItems", KW_UNIQUE_ITEMS, ON_ARRAY, H_BOOL, IN_ALL },
	{ "uniqueKeys", KW_REMARK, 0, H_ANY, 0 },
	{ "version", KW_REMARK, 0, H_TEXT, IN_ALL },
	{ "writeOnly", KW_REMARK, 0, H_ANY, IN_ALL },
	{ "xml", KW_REMARK, 0, H_ANY, IN_ALL },
};

const struct keyword_row *keyword_find(const struct json *member)
{
	static const struct keyword_row theirs = { "x-", KW_REMARK, 0, H_ANY, IN_ALL };
	size_t lo = 0, hi = sizeof rows / sizeof *rows;

	if (member->key_n > 2 && !memcmp(member->key, "x-", 2))
		return &theirs;
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

/* How many characters must be changed, inserted, left out or exchanged with the next one, where
 * capitals are as good as others; more than 2: at least so many. */
static int distance(const char *a, size_t n, const char *b, size_t m)
{
	enum { MOST = 32 };
	int d[3][MOST + 1], row = 0;

	if (n > MOST || m > MOST || n > m + 2 || m > n + 2)
		return 3;
	for (size_t k = 0; k <= m; k++)
		d[0][k] = (int)k;
	for (size_t i = 1; i <= n; i++) {
		const int *up = d[row], *two = d[(row + 2) % 3];
		int *at = d[row = (row + 1) % 3];

		at[0] = (int)i;
		for (size_t k = 1; k <= m; k++) {
			const int same = (a[i - 1] | 32) == (b[k - 1] | 32);
			int least = up[k - 1] + !same;

			least = up[k] + 1 < least ? up[k] + 1 : least;
			least = at[k - 1] + 1 < least ? at[k - 1] + 1 : least;
			if (i > 1 && k > 1 && (a[i - 1] | 32) == (b[k - 2] | 32) &&
			    (a[i - 2] | 32) == (b[k - 1] | 32) && two[k - 2] + 1 < least)
				least = two[k - 2] + 1;
			at[k] = least;
		}
	}
	return d[row][m];
}

const char *keyword_near(const struct json *member)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct keyword_row *r = rows + i;
		const size_t n = strlen(r->name);
		const int most = n < 4 ? 0 : n < 8 ? 1 : 2;

		/* those that have an effect, alone or beside others */
		if (r->kw == KW_REMARK && r->holds != H_SCHEMA && r->holds != H_COUNT &&
		    r->holds != H_MAP)
			continue;
		if (distance(member->key, member->key_n, r->name, n) <= most)
			return r->name;
	}
	return NULL;
}

static int is_count(const struct json *v)
{
	const double d = json_double(v);

	return json_is_number(v) && d >= 0 &&
	       (json_is_whole(v) || d > 1e18 || d == (double)(int64_t)d);
}

static int is_type(const struct json *v)
{
	static const char *const names[] = { "null",   "boolean", "number", "integer",
		                             "string", "array",   "object" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (json_equals(v, names[i]))
			return 1;
	return 0;
}

int keyword_all_texts(const struct json *v)
{
	if (!json_is_array(v))
		return 0;
	json_each(e, v)
		if (!json_is_string(e))
			return 0;
	return 1;
}

/* NULL: the value is what the keyword holds. */
const char *keyword_mistake(const struct json *v, enum holds h)
{
	switch (h) {
	case H_COUNT:
		return is_count(v) ? NULL : "must be a whole number, at least 0";
	case H_NUMBER:
		return json_is_number(v) ? NULL : "must be a number";
	case H_POSITIVE:
		return json_is_number(v) && json_double(v) > 0 ? NULL
		                                               : "must be a number greater than 0";
	case H_TEXT:
		return json_is_string(v) ? NULL : "must be a string";
	case H_FALSE:
		return json_is(v, JSON_FALSE) ? NULL : "is no keyword: add null to type instead";
	case H_BOOL:
		return json_is_bool(v) ? NULL : "must be true or false";
	case H_TEXTS:
		return keyword_all_texts(v) ? NULL : "must be an array of strings";
	case H_LIST:
		return json_is_array(v) ? NULL : "must be an array";
	case H_SCHEMAS:
		return json_is_array(v) && v->n ? NULL : "must be an array of schemas";
	case H_MAP:
	case H_DEPENDS:
		return json_is_object(v) ? NULL : "must be an object";
	case H_TEXTS_MAP:
		if (!json_is_object(v))
			return "must be an object";
		json_each(m, v)
			if (!keyword_all_texts(m))
				return "must hold arrays of strings";
		return NULL;
	case H_TYPE:
		if (json_is_array(v) && v->n) {
			json_each(e, v)
				if (!is_type(e))
					return "is not a type";
			return NULL;
		}
		return is_type(v) ? NULL : "is not a type";
	default:
		return NULL;
	}
}
