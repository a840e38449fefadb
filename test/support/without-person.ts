import type { Platform } from './oracle-records.ts'

/**
 * A platform's data after a person was erased (docs/operate/privacy.md): without the assessments of the person, and with
 * "Erased person" as the proctor of others.
 */
export function withoutPerson(platform: Platform, id: number): Platform {
  const assessments = platform.assessments.filter(assessment => assessment.user_id !== id)
  const users = platform.users.map(user => (user.id === id ? { ...user, name: 'Erased person' } : user))
  return { ...platform, assessments, users }
}
