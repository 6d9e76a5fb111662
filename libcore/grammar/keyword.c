/* grammar/keyword.c - the keywords of JSON Schema: a row for each. */
#include "grammar/keyword.h"

#include <string.h>

static const struct keyword_row rows[] = {
	{ "$anchor", KW_REMARK, 0, H_TEXT, IN_2020 },
	{ "$comment", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "$defs", KW_REMARK, 0, H_MAP, IN_BOTH },
	{ "$dynamicAnchor", KW_REMARK, 0, H_TEXT, IN_2020 },
	{ "$dynamicRef", KW_DYNAMIC_REF, ON_ALL, H_TEXT, IN_2020 },
	{ "$id", KW_REMARK, 0, H_TEXT, IN_BOTH },
	{ "$ref", KW_REF, ON_ALL, H_TEXT, IN_BOTH },
	{ "$schema", KW_REMARK, 0, H_TEXT, IN_BOTH },
	{ "$vocabulary", KW_REMARK, 0, H_ANY, IN_2020 },
	{ "additionalItems", KW_ADDITIONAL_ITEMS, ON_ARRAY, H_SCHEMA, IN_7 },
	{ "additionalProperties", KW_ADDITIONAL_PROPERTIES, ON_OBJECT, H_SCHEMA, IN_BOTH },
	{ "allOf", KW_ALL_OF, ON_ALL, H_SCHEMAS, IN_BOTH },
	{ "anyOf", KW_ANY_OF, ON_ALL, H_SCHEMAS, IN_BOTH },
	{ "const", KW_CONST, ON_ALL, H_ANY, IN_BOTH },
	{ "contains", KW_CONTAINS, ON_ARRAY, H_SCHEMA, IN_BOTH },
	{ "contentEncoding", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "contentMediaType", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "contentSchema", KW_REMARK, 0, H_SCHEMA, IN_2020 },
	{ "default", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "definitions", KW_REMARK, 0, H_MAP, IN_BOTH },
	{ "dependencies", KW_DEPENDENCIES, ON_OBJECT, H_DEPENDS, IN_BOTH },
	{ "dependentRequired", KW_DEPENDENT_REQUIRED, ON_OBJECT, H_TEXTS_MAP, IN_2020 },
	{ "dependentSchemas", KW_DEPENDENT_SCHEMAS, ON_OBJECT, H_MAP, IN_2020 },
	{ "deprecated", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "description", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "else", KW_REMARK, 0, H_SCHEMA, IN_BOTH },
	{ "enum", KW_ENUM, ON_ALL, H_LIST, IN_BOTH },
	{ "examples", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "exclusiveMaximum", KW_EXCLUSIVE_MAXIMUM, ON_NUMBER, H_NUMBER, IN_BOTH },
	{ "exclusiveMinimum", KW_EXCLUSIVE_MINIMUM, ON_NUMBER, H_NUMBER, IN_BOTH },
	{ "format", KW_FORMAT, ON_STRING, H_TEXT, IN_BOTH },
	{ "if", KW_IF, ON_ALL, H_SCHEMA, IN_BOTH },
	{ "items", KW_ITEMS, ON_ARRAY, H_ITEMS, IN_BOTH },
	{ "maxContains", KW_REMARK, 0, H_COUNT, IN_2020 },
	{ "maxItems", KW_MAX_ITEMS, ON_ARRAY, H_COUNT, IN_BOTH },
	{ "maxLength", KW_MAX_LENGTH, ON_STRING, H_COUNT, IN_BOTH },
	{ "maxProperties", KW_MAX_PROPERTIES, ON_OBJECT, H_COUNT, IN_BOTH },
	{ "maximum", KW_MAXIMUM, ON_NUMBER, H_NUMBER, IN_BOTH },
	{ "minContains", KW_REMARK, 0, H_COUNT, IN_2020 },
	{ "minItems", KW_MIN_ITEMS, ON_ARRAY, H_COUNT, IN_BOTH },
	{ "minLength", KW_MIN_LENGTH, ON_STRING, H_COUNT, IN_BOTH },
	{ "minProperties", KW_MIN_PROPERTIES, ON_OBJECT, H_COUNT, IN_BOTH },
	{ "minimum", KW_MINIMUM, ON_NUMBER, H_NUMBER, IN_BOTH },
	{ "multipleOf", KW_MULTIPLE_OF, ON_NUMBER, H_POSITIVE, IN_BOTH },
	{ "not", KW_NOT, ON_ALL, H_SCHEMA, IN_BOTH },
	{ "oneOf", KW_ONE_OF, ON_ALL, H_SCHEMAS, IN_BOTH },
	{ "pattern", KW_PATTERN, ON_STRING, H_TEXT, IN_BOTH },
	{ "patternProperties", KW_PATTERN_PROPERTIES, ON_OBJECT, H_MAP, IN_BOTH },
	{ "prefixItems", KW_PREFIX_ITEMS, ON_ARRAY, H_SCHEMAS, IN_2020 },
	{ "properties", KW_PROPERTIES, ON_OBJECT, H_MAP, IN_BOTH },
	{ "propertyNames", KW_PROPERTY_NAMES, ON_OBJECT, H_SCHEMA, IN_BOTH },
	{ "readOnly", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "required", KW_REQUIRED, ON_OBJECT, H_TEXTS, IN_BOTH },
	{ "then", KW_REMARK, 0, H_SCHEMA, IN_BOTH },
	{ "title", KW_REMARK, 0, H_ANY, IN_BOTH },
	{ "type", KW_TYPE, ON_ALL, H_TYPE, IN_BOTH },
	{ "unevaluatedItems", KW_UNEVALUATED_ITEMS, ON_ARRAY, H_SCHEMA, IN_2020 },
	{ "unevaluatedProperties", KW_UNEVALUATED_PROPERTIES, ON_OBJECT, H_SCHEMA, IN_2020 },
	{ "uniqueItems", KW_UNIQUE_ITEMS, ON_ARRAY, H_BOOL, IN_BOTH },
	{ "writeOnly", KW_REMARK, 0, H_ANY, IN_BOTH },
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
