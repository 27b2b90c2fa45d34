// Ctrl-C asks a run to stop after its current step; a second one ends the program at once.
#ifndef APPS_OPENBNNS_INTERRUPT_H
#define APPS_OPENBNNS_INTERRUPT_H

namespace program {

// SIGINT, SIGTERM and SIGHUP are noted from here on, each of them once.
void watch_interrupts();
// The number of the signal that came, or 0.
int interrupt_signal();

}  // namespace program

#endif
