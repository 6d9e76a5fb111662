/* api/turns.h (private) - building a conversation in OpenAI's form from that of another interface. */
#ifndef API_TURNS_H
#define API_TURNS_H
#include "job/job.h"

/* {"role": role, "content": content}, appended; content NULL: an empty text.  NULL: no memory. */
struct json *turns_put(struct json *to, struct arena *a, const char *role, struct json *content);
/* {"type": "text", "text": words}, appended to a list of parts */
void turns_part(struct json *parts, struct arena *a, const struct json *words);
/* A list of parts as it is said best: one text as that text. */
struct json *turns_content(struct arena *a, struct json *parts);
/* Append a call to a turn of the assistant.  arguments: JSON text, or a value that is written as one */
void turns_call(struct json *turn, struct arena *a, const struct json *id, const struct json *name,
                const struct json *arguments);
/* {"type": "function", "function": {name, description, parameters}}, appended */
void turns_tool(struct json *tools, struct arena *a, const struct json *tool,
                const char *parameters);
/* {"type": "function", "function": {"name": ...}} */
struct json *turns_choice(struct arena *a, const struct json *name);
#endif
