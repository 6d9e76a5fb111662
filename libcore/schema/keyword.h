/* schema/keyword.h - (private) the keywords of JSON Schema, and what they hold.  Immutable. */
#ifndef SCHEMA_KEYWORD_H
#define SCHEMA_KEYWORD_H
#include "base/json.h"
#include "ir/ir.h"

enum keyword {
	KW_REMARK, /* has no effect of its own */
	KW_TYPE,
	KW_ENUM,
	KW_CONST,
	KW_REF,
	KW_DYNAMIC_REF,
	KW_ALL_OF,
	KW_ANY_OF,
	KW_ONE_OF,
	KW_NOT,
	KW_IF,
	KW_MULTIPLE_OF,
	KW_MAXIMUM,
	KW_EXCLUSIVE_MAXIMUM,
	KW_MINIMUM,
	KW_EXCLUSIVE_MINIMUM,
	KW_MAX_LENGTH,
	KW_MIN_LENGTH,
	KW_PATTERN,
	KW_FORMAT,
	KW_PREFIX_ITEMS,
	KW_ITEMS,
	KW_ADDITIONAL_ITEMS,
	KW_MAX_ITEMS,
	KW_MIN_ITEMS,
	KW_UNIQUE_ITEMS,
	KW_CONTAINS,
	KW_UNEVALUATED_ITEMS,
	KW_MAX_PROPERTIES,
	KW_MIN_PROPERTIES,
	KW_REQUIRED,
	KW_PROPERTIES,
	KW_PATTERN_PROPERTIES,
	KW_ADDITIONAL_PROPERTIES,
	KW_PROPERTY_NAMES,
	KW_DEPENDENT_REQUIRED,
	KW_DEPENDENT_SCHEMAS,
	KW_DEPENDENCIES,
	KW_UNEVALUATED_PROPERTIES
};

enum types { /* bits, of enum alt_type */
	     ON_NUMBER = 1 << ALT_NUMBER,
	     ON_STRING = 1 << ALT_STRING,
	     ON_ARRAY = 1 << ALT_ARRAY,
	     ON_OBJECT = 1 << ALT_OBJECT,
	     ON_ALL = 127
};

/* what its value is */
enum holds {
	H_ANY,
	H_SCHEMA,
	H_SCHEMAS,
	H_ITEMS,
	H_MAP,
	H_DEPENDS,
	H_COUNT,
	H_NUMBER,
	H_POSITIVE,
	H_TEXT,
	H_TEXTS,
	H_TEXTS_MAP,
	H_LIST,
	H_BOOL,
	H_FALSE,
	H_EXCLUSIVE, /* a number; in draft 4 whether the bound beside it is */
	H_TYPE
};

/* drafts: a bit for each */
enum {
	IN_4 = 1,
	IN_6 = 2,
	IN_7 = 4,
	IN_2019 = 8,
	IN_2020 = 16,
	IN_ALL = 31,
	FROM_6 = IN_ALL - IN_4,
	FROM_7 = FROM_6 - IN_6,
	FROM_2019 = IN_2019 + IN_2020,
	TO_2019 = IN_ALL - IN_2020
};

struct keyword_row {
	const char *name;
	uint8_t kw, types, holds, drafts;
};

/* NULL: the member's name is no keyword */
const struct keyword_row *keyword_find(const struct json *member);
/* A keyword whose name is so much like that of the member that it may be meant; NULL: none. */
const char *keyword_near(const struct json *member);
/* What is wrong with its value, NULL: nothing. */
const char *keyword_mistake(const struct json *v, enum holds h);
int keyword_all_texts(const struct json *v); /* an array of strings */
#endif
