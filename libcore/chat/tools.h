/* chat/tools.h - the tools that a conversation may call: their names and the kinds of their
 * parameters. */
#ifndef CHAT_TOOLS_H
#define CHAT_TOOLS_H
#include <infer/chat.h>
#include "base/arena.h"
#include "base/json.h"

/* a NUL behind the name */
struct chat_tool {
	const char *name;
	size_t len;
	const struct json *parameters, *properties; /* the schema; its "properties" */
};
/* all zero: none */
struct infer_tools {
	struct arena arena;
	char *text; /* JSON, what strings of the values borrow; NULL: of a value that was read */
	size_t text_n;
	const struct json *list; /* the array that was read, for templates */
	struct chat_tool *at;
	size_t n;
};

enum { TOOLS_WRAPPED = 1 << 0 }; /* each must be {"function": {...}}, else it may be bare */
/* The one check of a list of tools.  t: zeroed; to tools_fini, on failure too.
 * list: an array, borrowed with what its strings borrow
 * bad   out: the entry that is no function with a name
 * INFER_EFORMAT INFER_ENOMEM  no message is set */
int tools_take(struct infer_tools *t, const struct json *list, unsigned flags, size_t *bad);
void tools_fini(struct infer_tools *t);
/* The kinds of values that the schema admits for a parameter, as bits; 0: unknown. */
enum { VALUE_TEXT = 1, VALUE_JSON = 2, VALUE_NULL = 4 };
int chat_tools_value(const struct chat_tool *t, const char *key, size_t n);
/* The same for a schema in the parameters of t. */
int chat_tools_kinds(const struct chat_tool *t, const struct json *schema);
/* The schema of a property, or of the elements, in a schema in the parameters of t, which may be in
 * one of its alternatives; NULL: it has none. */
const struct json *chat_tools_property(const struct chat_tool *t, const struct json *schema,
                                       const char *key, size_t n);
const struct json *chat_tools_items(const struct chat_tool *t, const struct json *schema);
/* 1: the kinds of values are known for each property and element in the parameters of t, however
 * deep. */
int chat_tools_known(const struct chat_tool *t);
/* 1: a schema in the parameters of t admits values of this type: "object", "array" */
int chat_tools_admits(const struct chat_tool *t, const struct json *schema, const char *type);
/* The tool that runs Python code, or -1. */
int chat_tools_python(const struct infer_tools *t);
#endif
