/* common/stored.h - chat templates that a store of models has for a file, by the file's path.  Any thread. */
#ifndef COMMON_STORED_H
#define COMMON_STORED_H

/* Remember the template of a file: Jinja source, freed with infer_hub_free; "" if the store's template cannot be used. */
void stored_template_add(const char *path, char *jinja);
/* The template of a file, which lives as long as the process; NULL: none. */
const char *stored_template(const char *path);
#endif
