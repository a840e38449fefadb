import { afterAll } from 'bun:test'
import { removeBuiltExecutable } from './executable.ts'
import { removeEmbeddedTemplate } from './service.ts'

afterAll(removeEmbeddedTemplate)
afterAll(removeBuiltExecutable)
