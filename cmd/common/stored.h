/* common/stored.h - chat templates that a model store has for a model file, by path. Any thread. */
#ifndef COMMON_STORED_H
#define COMMON_STORED_H

/* Add the template of the model file at path. jinja: source from infer_hub_get, owned by this module from
 * now on; "" if the store's template cannot be used. */
void stored_template_add(const char *path, char *jinja);
/* Return the template of the file at path, or NULL. The text lives as long as the process. */
const char *stored_template(const char *path);
#endif
