/* api/turns.h (private) - build a conversation in OpenAI's format from one in another API format.
 *
 * Memory comes from the arena; if it runs out, a->bad is set and results are NULL. */
#ifndef API_TURNS_H
#define API_TURNS_H
#include "job/job.h"

/* Append {"role": role, "content": content} and return it.  content NULL: an empty text. */
struct json *turns_put(struct json *to, struct arena *a, const char *role, struct json *content);
/* Append {"type": "text", "text": words} to a list of parts. */
void turns_part(struct json *parts, struct arena *a, const struct json *words);
/* Return a list of parts as content: no part is an empty text, one part is its text. */
struct json *turns_content(struct arena *a, struct json *parts);
/* Append a call to a turn of the assistant.  arguments: a string with JSON, or another value,
 * which is written as JSON; NULL: {} */
void turns_call(struct json *turn, struct arena *a, const struct json *id, const struct json *name,
                const struct json *arguments);
/* Append {"type": "function", "function": {name, description, strict, parameters}}.  parameters:
 * the member of `tool` that is the schema */
void turns_tool(struct json *tools, struct arena *a, const struct json *tool,
                const char *parameters);
/* Return {"type": "function", "function": {"name": name}}. */
struct json *turns_choice(struct arena *a, const struct json *name);
#endif
