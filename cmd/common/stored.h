/* common/stored.h - chat templates that a model store has for a file, by path. Any thread. */
#ifndef COMMON_STORED_H
#define COMMON_STORED_H

/* Add the template of a file: Jinja source from infer_hub_get, which is taken over; "" if the store's
 * template cannot be used. */
void stored_template_add(const char *path, char *jinja);
/* Return the template of a file, or NULL. It lives as long as the process. */
const char *stored_template(const char *path);
#endif
