import { render } from 'preact'
import { App } from './app.tsx'
import { openSession } from './data/session.ts'

render(<App />, document.getElementById('page')!)
void openSession()
