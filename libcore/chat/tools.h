/* chat/tools.h - the tools that a conversation may call: their names, and what kind of values their
 * parameters take. */
#ifndef CHAT_TOOLS_H
#define CHAT_TOOLS_H
#include <infer/status.h>
#include "base/json.h"

/* a NUL behind the name */
struct chat_tool {
	const char *name;
	size_t len;
	const struct json *properties;
};
/* text: what strings of the values borrow */
struct chat_tools {
	struct arena arena;
	char *text;
	struct chat_tool *at;
	size_t n;
};

int chat_tools_read(struct chat_tools *t, const char *json, size_t n, infer_error *err);
void chat_tools_fini(struct chat_tools *t);
/* What the schema says of a parameter's value, as bits; 0: nothing. */
enum { VALUE_TEXT = 1, VALUE_JSON = 2, VALUE_NULL = 4 };
int chat_tools_value(const struct chat_tool *t, const char *key, size_t n);
/* The tool that runs Python code, or -1. */
int chat_tools_python(const struct chat_tools *t);
#endif
