/* job/form_list.h - every wire form, in the order in which they are asked. */
FORM(own)
FORM(text)
FORM(chat)
FORM(messages)
FORM(count)
FORM(responses)
FORM(embed)
