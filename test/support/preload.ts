import { afterAll } from 'bun:test'
import { removeEmbeddedTemplate } from './service.ts'

afterAll(removeEmbeddedTemplate)
