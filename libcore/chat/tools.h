/* chat/tools.h - the tools that a model may call: their names and the schemas of their
 * parameters. */
#ifndef CHAT_TOOLS_H
#define CHAT_TOOLS_H
#include <infer/chat.h>
#include "base/arena.h"
#include "base/json.h"

/* name: NUL-terminated */
struct chat_tool {
	const char *name;
	size_t len;
	const struct json *parameters, *properties; /* the schema; its "properties" */
};
/* A list of tools; all zero: empty. */
struct infer_tools {
	struct arena arena;
	char *text; /* the JSON text that values borrow from; NULL: the caller owns it */
	size_t text_n;
	const struct json *list; /* the array that was read, for templates */
	struct chat_tool *at;
	size_t n;
};

/* flags: each tool must be {"function": {...}}; otherwise {...} is accepted too */
enum { TOOLS_WRAPPED = 1 << 0 };
/* Read a list of tools.  t: zeroed; call tools_fini, on failure too.
 * list: an array, borrowed
 * bad   out: index of the first entry that is not a function with a name
 * INFER_EFORMAT INFER_ENOMEM  no message is set */
int tools_take(struct infer_tools *t, const struct json *list, unsigned flags, size_t *bad);
void tools_fini(struct infer_tools *t);
/* Return the kinds of values that the schema admits for a parameter, as bits; 0: unknown. */
enum { VALUE_TEXT = 1, VALUE_JSON = 2, VALUE_NULL = 4 };
int chat_tools_value(const struct chat_tool *t, const char *key, size_t n);
/* Return these bits for a schema within the parameters of t. */
int chat_tools_kinds(const struct chat_tool *t, const struct json *schema);
/* Return the schema of property `key`, or of the elements, of a schema within the parameters of t;
 * alternatives (anyOf) are searched too.  NULL: there is none. */
const struct json *chat_tools_property(const struct chat_tool *t, const struct json *schema,
                                       const char *key, size_t n);
const struct json *chat_tools_items(const struct chat_tool *t, const struct json *schema);
/* Return 1 if the kinds of values are known for all properties and elements within the
 * parameters of t. */
int chat_tools_known(const struct chat_tool *t);
/* Return 1 if a schema within the parameters of t admits values of this type: "object", "array". */
int chat_tools_admits(const struct chat_tool *t, const struct json *schema, const char *type);
/* Return the index of the tool that runs Python code, or -1. */
int chat_tools_python(const struct infer_tools *t);
#endif
