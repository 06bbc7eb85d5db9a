/** Composition: the only place that connects features, builds them, starts them in order and stops them in reverse. */
export { type Configuration, type Flags, loadConfiguration } from './configuration.ts';
export { borrowDatabase, type Database, prepareSchema, withPool } from './database.ts';
export { findRunning } from './running-file.ts';
export { sampleCurl } from './sample.ts';
export { type Role, roles, type ServeOptions, type Serving, serve } from './serve.ts';
